"""How to read the quantities that teachers, training and learners record, by their column."""

from __future__ import annotations

READINGS = {
    "teacher/kl_to_target": (
        "KL divergence from the contexts to the target. It falls while the curriculum moves on, "
        "and is near 0 on arrival. A plateau above 0 is a curriculum that has stopped."
    ),
    "teacher/w2_to_target": (
        "Wasserstein distance of the particles to the target. It falls while the curriculum "
        "moves on; a plateau is a curriculum that waits for the learner."
    ),
    "teacher/alpha": (
        "Weight of the target against the return in SPDL's objective. 0 means that the teacher "
        "ignores the target: at the start on purpose, later because returns are negative."
    ),
    "teacher/effective_samples": (
        "How many episodes the importance-weighted estimate rests on. Below about 5 the update "
        "follows noise: use more episodes per update, or a smaller max_kl."
    ),
    "teacher/kl_moved": (
        "KL divergence between the old and the new contexts. At max_kl in most updates, the "
        "trust region sets the pace; near 0, the curriculum stands still."
    ),
    "teacher/trust_region_active": (
        "1 where the trust region limits the step. Mostly 1 while the curriculum travels is normal."
    ),
    "teacher/bounds_active": (
        "Number of lower bounds of the standard deviation that are active. Above 0 far from the "
        "target, the contexts are as narrow as allowed."
    ),
    "teacher/clipped_share": (
        "Share of contexts that were moved to the bounds of the box. A large share means that "
        "the Gaussian reaches far outside."
    ),
    "teacher/accepted": (
        "1 where the solver found a better distribution. Often 0: the objective is flat or noisy."
    ),
    "teacher/gain": (
        "Improvement of the teacher's objective by the update. It is 0 where an update was not "
        "accepted."
    ),
    "teacher/mastered": (
        "Share of recent episodes that count as mastered. The contexts move towards the target "
        "while it is high, and back while it is low."
    ),
    "teacher/direction": (
        "Positive: the contexts move towards the target. Negative: they retreat to what was "
        "mastered."
    ),
    "teacher/return_threshold": ("Return from which an episode counts as mastered."),
    "teacher/threshold": ("Return or success that the teacher demands before it moves on."),
    "teacher/above_threshold": (
        "Share of particles whose estimated outcome is above the threshold; only those move on."
    ),
    "teacher/moving": ("1 where the teacher moves its particles, 0 where it waits."),
    "teacher/outcome": ("Mean outcome of the recent episodes that the teacher judges by."),
    "teacher/share_of_target": (
        "How far the contexts have travelled from the initial distribution (0) to the target (1)."
    ),
    "teacher/place": ("How far the particles have travelled from the start (0) to the target (1)."),
    "teacher/arrived": ("Share of particles that have reached the target."),
    "teacher/competence": ("Estimated success at the contexts of the particles."),
    "teacher/anchored": (
        "Number of particles whose start was moved to a context that is mastered. Often above 0, "
        "the initial contexts are too hard."
    ),
    "teacher/success": (
        "Share of recent episodes that succeeded; the teacher widens the contexts while it is "
        "above its threshold."
    ),
    "teacher/kl_to_uniform": (
        "Divergence from the uniform distribution over the box: 0 is the widest."
    ),
    "teacher/box_share": ("Width of the sampled box as a share of the whole box."),
    "teacher/learning_progress": (
        "Mean absolute change of returns in similar contexts. Near 0: nothing changes, learned "
        "or hopeless."
    ),
    "teacher/learnability": (
        "Mean of p (1 - p) over the chosen contexts: 0.25 at best, near 0 for contexts that "
        "always or never succeed."
    ),
    "teacher/score": ("Mean score of the contexts in the buffer; higher is more to learn."),
    "teacher/buffer": ("Number of contexts in the buffer."),
    "teacher/components": (
        "Number of Gaussians that fit the learning progress; more of them tell more regions apart."
    ),
    "teacher/history": ("Number of remembered episodes that learning progress is measured by."),
    "teacher/intermediate": (
        "Share of new contexts that succeed sometimes, but not always. Near 0, the generator has "
        "nothing to learn from."
    ),
    "teacher/success_buffer": ("Number of succeeded contexts that are replayed."),
    "teacher/trainings": ("How often the generator has been trained."),
    "teacher/updates": ("Number of updates so far; a plateau means that they wait for episodes."),
    "teacher/dual_solved": (
        "1 where the dual was solved; 0 is an update that was left out. Often 0: the returns "
        "hardly differ."
    ),
    "teacher/eta_policy": (
        "Temperature of the weights of the episodes for the policy. Small, few episodes dominate."
    ),
    "teacher/eta_context": (
        "Temperature of the weights of the episodes for the contexts. Small, few episodes dominate."
    ),
    "teacher/eta_fit": (
        "Weight of the old distributions against the episodes in a fit. Far above 1, almost "
        "nothing changes."
    ),
    "teacher/expected_value": (
        "Expected return under the teacher's contexts. The teacher moves on while it is above "
        "its threshold."
    ),
    "teacher/stays": ("1 where the contexts stay until the learner performs well enough."),
    "teacher/reached": ("1 once the performance threshold has been reached for the first time."),
    "train/return": (
        "Mean return of the training episodes. It may fall while contexts become harder: that "
        "is the curriculum at work."
    ),
    "train/success": (
        "Success of the training episodes. Near 0 for long, the contexts are too hard; near 1 "
        "for long, too easy."
    ),
    "train/value": (
        "Mean value estimate at the first observations. Far below the training return, the "
        "critic lags, and a teacher that listens to it is too careful."
    ),
    "train/length": ("Mean number of steps of an episode."),
    "train/episodes": (
        "Number of episodes that ended in an iteration; a teacher learns little from few."
    ),
    "train/unstable": (
        "Number of episodes that the simulation had to end. Above 0 often, the physics breaks "
        "down: lower the actions or the time step."
    ),
    "learner/kl": (
        "KL divergence of the policy update. Much above the usual 0.01 to 0.03, updates are too "
        "large."
    ),
    "learner/policy_std": (
        "Standard deviation of the actions: it falls as the policy becomes certain."
    ),
    "learner/policy_entropy": (
        "Entropy of the actions: it falls as the policy becomes certain. Near 0 early, exploration "
        "has ended too soon."
    ),
    "learner/value_loss": (
        "Error of the critic. A jump is normal when the contexts move; a rise without end is not."
    ),
    "learner/policy_loss": (
        "Loss of the policy in the last epoch. Its size says little; look at the return instead."
    ),
    "learner/clipped_share": (
        "Share of the samples whose probability ratio is clipped. Above about 0.3, updates are "
        "too large."
    ),
    "learner/action_value_loss": (
        "Error of the critics of state and action. A rise without end means diverging estimates."
    ),
    "learner/entropy": ("Entropy of the actions: it falls as the policy becomes certain."),
    "learner/entropy_coefficient": (
        "Weight of the entropy against the reward. It falls while the entropy is above its target."
    ),
    "learner/surrogate_improvement": (
        "Improvement of the policy's objective by the update; 0 where no step was accepted."
    ),
    "learner/step_accepted": (
        "1 where the line search found a step within the trust region. Often 0: no update helps."
    ),
    "learner/effective_samples": (
        "How many episodes the update of the policy rests on. Few: exploration narrows quickly."
    ),
}
"""A sentence or two for each column of `metrics.csv` that a reader may ask about."""
