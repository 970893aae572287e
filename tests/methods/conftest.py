"""Whole methods are tested here: every operator is registered first."""

import methods  # noqa: F401 - registers
import operators  # noqa: F401 - registers
