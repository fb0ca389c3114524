//! Constants of the spaces that formulas on tensors and on slices share.

/// Smallest value of `z` in `acosh(1 + z)`, and smallest norm in a quotient.
///
/// The published code clamps `1 + z` with the same number. In `f32` that sum rounds to 1, so the
/// clamp never acts. Here `z` itself is computed and clamped; 1e-8 is representable, so the clamp
/// acts.
pub const EPS: f64 = 1e-8;

/// `K`: points within `2 K / sqrt(c)` of the origin have the widest cone (notation 1.1).
pub const MIN_RADIUS: f64 = 0.1;

/// `eps_c`: the half-aperture of a cone at distance `t` from the root is `asin(min(1, eps_c / t))`.
pub const CONE_RADIUS: f64 = 0.05;

/// `asinh(2^15)`: tangent norms above this value divided by `sqrt(c)` are clamped, so that `sinh`
/// cannot overflow.
pub const MAX_TANGENT: f64 = 11.090_354_889_191_955;
