"""Ladders as people write them, and the one that a device gets where nobody writes any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import Run

from accelplug.buckets import BucketPolicy, default_ladder
from accelplug.errors import BadInputError
from accelplug.specs import Constraints

STATIC = Constraints(static_shapes=True)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("16,32,100", (16, 32, 100)),
        ("16, 32, 64..200", (16, 32, 64, 128, 200)),
        ("16,32,48..100", (16, 32, 48, 64, 80, 96, 100)),
        ("pow2:16..128", (16, 32, 64, 128)),
        ("linear:64..256:64", (64, 128, 192, 256)),
        ("geometric:16..1024:4", (16, 64, 256, 1024)),
        ("pow2:16..300/64", (64, 128, 256, 320)),
    ],
)
def test_a_ladder_is_read(text: str, sizes: tuple[int, ...]) -> None:
    assert BucketPolicy.parse(text).ladder().sizes == sizes


@pytest.mark.parametrize("text", ["16,32,100", "pow2:16..128", "linear:64..256:64", "geometric:2..9:3/4", "pow2:16.."])
def test_what_is_read_is_written_the_same(text: str) -> None:
    assert str(BucketPolicy.parse(text)) == text


NUMBERS = st.integers(1, 4096)
ENDS = st.tuples(NUMBERS, NUMBERS).map(sorted)
POLICIES = st.one_of(
    st.builds(lambda sizes: BucketPolicy(form="sizes", sizes=tuple(sorted(sizes))), st.sets(NUMBERS, min_size=1)),
    st.builds(lambda ends: BucketPolicy(form="pow2", first=ends[0], last=ends[1]), ENDS),
    st.builds(
        lambda ends, form, number: BucketPolicy(form=form, first=ends[0], last=ends[1], number=number),
        ENDS,
        st.sampled_from(["linear", "geometric"]),
        st.integers(2, 9),
    ),
)


@given(POLICIES, st.integers(1, 128))
def test_a_policy_survives_text_and_json(policy: BucketPolicy, multiple: int) -> None:
    policy = policy.model_copy(update={"multiple": multiple})
    assert BucketPolicy.parse(str(policy)) == policy
    assert BucketPolicy.model_validate_json(policy.model_dump_json()) == policy


def test_an_open_ladder_ends_at_the_longest_length() -> None:
    policy = BucketPolicy.parse("pow2:16..")
    assert policy.ladder(100).sizes == (16, 32, 64, 100)
    assert policy.ladder(8).sizes == (8,)
    with pytest.raises(BadInputError, match=r"'pow2:16\.\.' have no end here"):
        policy.ladder()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pwo2:16..64", "no form 'pwo2'; did you mean 'pow2'"),
        ("pow2:16-64", "pow2:FIRST..LAST"),
        ("pow2:16..64:2", "pow2 takes no third number"),
        ("linear:16..64", "linear takes a step"),
        ("geometric:16..64", "geometric takes a count"),
        ("pow2:0..64", "from 1"),
        ("pow2:64..16", "from 64 to 16"),
        ("16,32..64", "isn't clear"),
        ("16,32,65..128", "isn't clear"),
        ("16,8", "ascending"),
        ("16,x", "write sizes"),
        ("", "write sizes"),
        ("16,32/x", "'x' is no multiple"),
        ("１６", "write sizes"),
    ],
)
def test_what_cannot_be_read_is_said_with_what_can(text: str, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        BucketPolicy.parse(text)


def test_a_device_of_any_shape_has_no_ladder() -> None:
    assert default_ladder(Constraints(), 2048, setting="16,32") is None


def test_what_a_person_wrote_goes_before_the_devices_buckets_and_those_before_powers_of_two() -> None:
    device = Constraints(static_shapes=True, buckets=(100, 1000, 4000))
    chosen = [
        default_ladder(device, 2048, setting="64,512"),
        default_ladder(device, 2048),
        default_ladder(STATIC, 2048),
        default_ladder(STATIC, 8),
        default_ladder(STATIC, 8, smallest=1),
    ]
    assert [ladder.sizes for ladder in chosen if ladder] == [
        (64, 512),
        (100, 1000, 2048),
        (16, 32, 64, 128, 256, 512, 1024, 2048),
        (8,),
        (1, 2, 4, 8),
    ]


def test_the_default_ladder_is_aligned() -> None:
    ladder = default_ladder(STATIC, 300, multiple=64)
    assert ladder is not None
    assert ladder.sizes == (64, 128, 256, 320)


def test_the_arithmetic_of_buckets_needs_no_torch(python: Run) -> None:
    code = "import sys, accelplug.buckets as b; b.Slicer(b.Ladder((16, 64))).slices(70); print('torch' in sys.modules)"
    done = python(code)
    assert done.stdout == "False\n", done.stderr
