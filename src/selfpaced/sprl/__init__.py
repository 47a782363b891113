"""SPRL, the episodic method: policy and contexts are updated jointly from one dual."""
