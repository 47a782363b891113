"""The bimodal point mass for teachers that need a Gaussian: one with the moments of the target.

selfpaced train benchmarks.bimodal_gaussian:PROBLEM --teacher threshold-spdl --teacher.threshold 4 \
    --teacher.max-kl 0.25 --teacher.std-lower-bound 0.2 0.1875 --teacher.signal return

Evaluated on both gates, as point-mass-2d-bimodal is. Threshold and trust region are the published
ones of SPDL on that problem (Klink et al., TPAMI 2024).
"""

from dataclasses import replace

from selfpaced import Gaussian
from selfpaced.presets.point_mass_bimodal import POINT_MASS_2D_BIMODAL

PROBLEM = replace(
    POINT_MASS_2D_BIMODAL,
    name="point-mass-2d-bimodal-gaussian",
    contexts=replace(
        POINT_MASS_2D_BIMODAL.contexts, target=Gaussian.diagonal((0.0, 0.5), (3.0, 0.01))
    ),
    evaluation=POINT_MASS_2D_BIMODAL.contexts.target,
)
