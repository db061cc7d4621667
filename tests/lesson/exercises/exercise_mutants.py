"""All wrong answers to the exercises. Each is a mistake that a learner makes."""

from tests.lesson.exercises.mutants_first import FIRST
from tests.lesson.exercises.mutants_later import LATER
from tests.lesson.exercises.mutants_states import STATES

MUTANTS = [*FIRST, *LATER, *STATES]
