from __future__ import annotations

from kernelref.fuzzing.campaign_features import features_of, is_pair
from kernelref.fuzzing.campaign_feedback import FRESH, Feedback
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import HALF, IMAGE_HALF, image
from kernelref.opt.opt import Opt, OptOps


def test_a_kernel_without_reductions():
    masked = buffer(1, (4,)).pad([(1, 1)])
    assert set(features_of(kernel(masked.cast(HALF)))) == {
        "LOAD float masked v1 none",
        "CAST half none",
        "STORE half v1 none",
        "CAST half none < LOAD float masked v1 none",
        "STORE half v1 none < CAST half none",
    }


def test_nodes_before_after_between_and_beside_reductions():
    x = buffer(1, (4, 5, 6))
    inner = x.sum(2)
    ast = kernel((inner * 2.0).max(1) + buffer(2, (4, 1, 1)))
    singles = {feature for feature in features_of(ast) if not is_pair(feature)}
    assert "LOAD float v1 before" in singles
    assert "reduce-SUM float between" in singles
    assert "MUL float between" in singles
    assert "reduce-MAX float after" in singles
    assert "ADD float after" in singles
    assert "LOAD float v1 beside" in singles


def test_an_image_counts_without_its_shape():
    x = buffer(1, (2, 4), image(IMAGE_HALF, (1, 2, 4)))
    assert "LOAD imageh v1 none" in features_of(kernel(x * 1.0))


def test_feedback_favours_what_is_new_and_forgets_what_is_not():
    feedback = Feedback()
    names = ("ADD half none",)
    feedback.end_generation([(names, (Opt(OptOps.LOCAL, 0, 2), Opt(OptOps.UPCAST, 0, 2)))])
    weights = dict(feedback.steering().ops)
    base = dict(Feedback().steering().ops)
    assert weights["ADD"] == FRESH * base["ADD"]
    assert weights["MUL"] == base["MUL"]
    assert (
        dict(feedback.steering().dtypes)["half"]
        == FRESH * dict(Feedback().steering().dtypes)["half"]
    )
    feedback.end_generation([(names, ())])
    assert dict(feedback.steering().ops) == base
    memory = feedback.steering().memory()
    assert memory.pairs[OptOps.LOCAL, OptOps.UPCAST] == 1
    assert memory.pairs[None, OptOps.LOCAL] == 1
    assert feedback.singles_and_pairs == (1, 0)
