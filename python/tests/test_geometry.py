"""Geometry: the reference values of the notation, shapes, precision and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import espalier
from espalier import geometry
from espalier.geometry import cone, lorentz, poincare, product, radial

A, B = [0.3, -0.2, 0.5], [-0.1, 0.4, 0.25]

# Notation 9.1: c, inner product, distance, half-apertures, exterior angles both ways.
LINES = [
    (1.0, -1.321260017925, 0.781531376175, (0.309697584010, 0.410571560247), (2.523453896480, 2.279894173628)),
    (0.5, -2.305955632419, 0.772603748380, (0.460747229314, 0.613063261748), (2.491939626423, 2.242425748830)),
    (2.0, -0.853743616382, 0.798082362037, (0.204156695176, 0.275199911497), (2.581687210475, 2.349457434366)),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"c={line[0]}")
def test_the_reference_table_holds_in_double_precision(line):
    c, inner, dist, apertures, angles = line
    x, y = geometry.exp_map0(A, c), geometry.exp_map0(B, c)
    assert x.dtype == np.float64
    assert lorentz.inner(x, y, c) == pytest.approx(inner, abs=1e-9)
    assert lorentz.dist(x, y, c) == pytest.approx(dist, abs=1e-8)
    # The published code adds 1e-8 to denominators of about 0.3.
    assert cone.half_aperture([x, y], c) == pytest.approx(apertures, abs=1e-7)
    assert cone.exterior_angle([x, y], [y, x], c) == pytest.approx(angles, abs=1e-7)
    np.testing.assert_allclose(geometry.log_map0(x, c), A, atol=1e-12)


def test_single_precision_stays_single_and_is_near_the_double_one():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 6, 5))
    for function in (lorentz.dist, lorentz.inner, cone.exterior_angle, lorentz.pairwise_dist):
        double = function(x, y, 0.7)
        single = function(x.astype(np.float32), y.astype(np.float32), 0.7)
        assert (double.dtype, single.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-5)
    assert lorentz.dist(x.astype(np.float32), y).dtype == np.float64


def test_points_broadcast_and_each_row_may_have_a_curvature():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 4, 3)), rng.normal(size=3)
    found = lorentz.dist(x, y, 0.5)
    assert found.shape == (2, 4)
    assert found[1, 2] == pytest.approx(lorentz.dist(x[1, 2], y, 0.5))
    c = np.array([0.5, 2.0])[:, None]
    each = lorentz.dist0(x, c)
    assert each[1] == pytest.approx(lorentz.dist0(x[1], 2.0))
    assert lorentz.exp_map0(x, c).shape == x.shape
    assert lorentz.time(np.ones((3, 1))).shape == (3,)
    assert lorentz.exp_map0(np.ones((3, 1))).shape == (3, 1)
    assert lorentz.dist0(np.empty((0, 3))).shape == (0,)


def test_pairs_are_all_rows_against_all_rows():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    pairs = [
        (lorentz.pairwise_dist, lorentz.dist),
        (lorentz.pairwise_inner, lorentz.inner),
        (cone.pairwise_exterior_angle, cone.exterior_angle),
    ]
    for pairwise, by_row in pairs:
        np.testing.assert_allclose(pairwise(x, y, 0.7), by_row(x[:, None], y, 0.7), atol=1e-9)
    batches = lorentz.pairwise_dist(np.stack([x, 2 * x]), np.stack([y, y]), [0.7, 2.0])
    np.testing.assert_allclose(batches[1], lorentz.pairwise_dist(2 * x, y, 2.0))


def test_the_gap_is_zero_inside_of_a_cone():
    x = [0.3, 0.4]
    assert cone.entailment_gap(x, [0.6, 0.8]) == 0
    outside = cone.exterior_angle(x, [-0.6, 0.8]) - 0.7 * cone.half_aperture(x)
    assert cone.entailment_gap(x, [-0.6, 0.8], eta=0.7) == pytest.approx(outside)


def test_the_midpoint_of_equal_points_is_the_point():
    point = geometry.exp_map0(A)
    np.testing.assert_allclose(geometry.einstein_midpoint([point] * 3), point, atol=1e-12)


def test_radial_angles_match_the_reference():
    # Notation 9.3 (a).
    unit = lambda v: np.array(v) / np.linalg.norm(v)
    root, e, f, g = [1.0, 0, 0], unit([1, 1, 0]), unit([1, 1, 1]), unit([1, -1, 0.5])
    assert radial.exterior_angle(e, f, root) == pytest.approx(1.686974395656, abs=1e-9)
    assert radial.exterior_angle(e, g, root) == pytest.approx(2.660560316423, abs=1e-9)
    assert radial.half_aperture(e, root) == pytest.approx(0.065374705264, abs=1e-6)
    assert radial.angle([1, 0], [0, 2]) == pytest.approx(math.pi / 2)
    zero = np.zeros(3)
    expected = radial.exterior_angle(np.array([e, f])[:, None], np.array([g, root]), zero)
    np.testing.assert_allclose(radial.pairwise_exterior_angle([e, f], [g, root]), expected, atol=1e-6)


def test_a_product_averages_the_distances_of_its_factors():
    rng = np.random.default_rng(3)
    x, y, c = rng.normal(size=(4, 6)), rng.normal(size=(5, 6)), [0.5, 2.0]
    each = [
        lorentz.pairwise_dist(x[:, i : i + 3], y[:, i : i + 3], k) for i, k in ((0, 0.5), (3, 2.0))
    ]
    np.testing.assert_allclose(product.pairwise_dist(x, y, c), np.mean(each, axis=0), atol=1e-6)
    l2 = np.sqrt(np.mean(np.square(each), axis=0))
    np.testing.assert_allclose(product.pairwise_dist(x, y, c, join="l2"), l2, atol=1e-6)
    assert np.array_equal(product.flatten(product.split(x, 2)), x)
    space = espalier.Space.product(c)
    np.testing.assert_allclose(product.pairwise_inner(x, y, c), space.pairwise_score(x, y), rtol=1e-5)
    np.testing.assert_allclose(product.pairwise_dist(x, y, c), space.pairwise_distance(x, y), rtol=1e-5)


def test_the_ball_keeps_distances():
    x, y = geometry.exp_map0(A), geometry.exp_map0(B)
    p, q = poincare.from_lorentz(x), poincare.from_lorentz(y)
    # The ball reads points in single precision.
    assert poincare.distance(p, q) == pytest.approx(0.781531376175, abs=1e-6)
    np.testing.assert_allclose(poincare.to_lorentz(p), x, atol=1e-6)
    np.testing.assert_allclose(poincare.log0(poincare.exp0(A)), A, atol=1e-12)
    np.testing.assert_allclose(poincare.centred(p, p), np.zeros(3), atol=1e-12)
    ideal = np.array([1.0, 0.0])
    assert poincare.busemann(ideal, 0.5 * ideal) == pytest.approx(-math.log(3))


def test_spaces_agree_with_the_functions_of_tensors():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 3)).astype(np.float32)
    y = rng.normal(size=(5, 3)).astype(np.float32)
    space = espalier.Space.lorentz(0.7)
    np.testing.assert_allclose(space.pairwise_distance(x, y), lorentz.pairwise_dist(x, y, 0.7), rtol=1e-5)
    np.testing.assert_allclose(space.radius(x), lorentz.dist0(x, 0.7), rtol=1e-5)
    np.testing.assert_allclose(space.half_aperture(x), cone.half_aperture(x, 0.7), rtol=1e-5)
    angles = space.pairwise_exterior_angle(x, y)
    np.testing.assert_allclose(angles, cone.pairwise_exterior_angle(x, y, 0.7), atol=1e-4)
    inside = angles <= space.half_aperture(x)[:, None]
    assert np.array_equal(space.pairwise_entails(x, y), inside)
    half = space.between(x[0], share=0.5)
    assert space.radius(half) == pytest.approx(space.radius(x[0]) / 2, rel=1e-5)
    np.testing.assert_allclose(space.between(x[0], y[0], share=1.0), y[0], rtol=1e-5)


def test_the_sphere_has_a_root_and_no_distance():
    root = np.array([1.0, 0, 0])
    space = espalier.Space.sphere(root)
    assert space.kind == "sphere" and space.curvatures == []
    assert np.array_equal(space.root, root)
    assert space.radius([0, 1, 0]) == pytest.approx(math.sqrt(2))
    assert space.pairwise_score([[1, 0, 0]], [[0, 1, 0], [1, 0, 0]]).tolist() == [[0, 1]]
    with pytest.raises(espalier.UsageError, match="expected a hyperbolic space"):
        space.pairwise_distance(root, root)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: lorentz.dist([1.0, 2.0], [1.0, 2.0, 3.0]), "x, y: expected shapes that broadcast"),
        (lambda: lorentz.dist0(1.0), r"x: expected points \[.., d\], found shape \[\]"),
        (lambda: lorentz.dist0([1.0, 2.0], -1.0), "c: expected positive numbers, found -1.0"),
        (lambda: lorentz.dist0(np.ones((2, 3)), [1.0, 1.0, 1.0]), "found \\[2, 3\\] and c \\[3\\]"),
        (lambda: lorentz.dist0(["a"]), "x: expected an array of numbers"),
        (lambda: lorentz.pairwise_dist([1.0], [[1.0]]), "x and y: expected shapes"),
        (lambda: product.split(np.ones((2, 5)), 2), r"features: expected shape \[b, 2 d\]"),
        (lambda: product.pairwise_dist(np.ones((1, 2)), np.ones((1, 2)), [1], "l3"), "l1 or l2, found l3"),
        (lambda: espalier.Space.lorentz(0.0), "curvature: expected a positive number, found 0"),
        (lambda: espalier.Space.lorentz().radius(3.0), "x: expected points"),
        (lambda: espalier.Space.sphere([1, 0]).radius([1, 0, 0]), r"an array \[.., 2\]"),
        (lambda: espalier.Space.product([1, 2]).radius([1, 0, 0]), "divides by the 2 factors"),
        (lambda: poincare.distance([[0.1, 0.2]], [0.1]), "expected points of one shape"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(work, said):
    with pytest.raises(espalier.UsageError, match=said):
        work()
