"""Checks for operators, of this package and of others.

:func:`check_rules` runs every row of an operator's storage-type table against its dense meaning;
:func:`check_gradient` compares gradient rules with finite differences.  Both go over everything
registered unless told which operator; :mod:`ndsparse.testing.samples` says with which arrays.
"""

from ndsparse.testing import structural_samples as _structural_samples  # noqa: F401  (fills the table)
from ndsparse.testing.gradients import check_gradient
from ndsparse.testing.rules import check_rules
from ndsparse.testing.samples import Sample, add_samples

__all__ = ["Sample", "add_samples", "check_gradient", "check_rules"]
