//! Conditions on a place in the value, as bits, so that several are checked at once.

#![expect(clippy::indexing_slicing, reason = "a side is one of four, and so are the rows and columns of the table")]

use crate::vocab::pcre::ast::Assertion;

/// Conditions that hold together at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(super) struct Conditions(u8);

/// What lies on one side of a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Side {
    /// No byte: the start of the value, or its end.
    Nothing,
    /// A byte of `\w`.
    Word,
    /// A line feed.
    LineFeed,
    /// Any other byte.
    Other,
}

impl Conditions {
    /// No condition: any place will do.
    pub(super) const NONE: Self = Self(0);

    const START: Self = Self(1);
    const END: Self = Self(2);
    const LINE_START: Self = Self(4);
    const LINE_END: Self = Self(8);
    const BOUNDARY: Self = Self(16);
    const NO_BOUNDARY: Self = Self(32);

    /// The condition that an assertion makes.
    pub(super) const fn of(assertion: Assertion) -> Self {
        match assertion {
            Assertion::Start => Self::START,
            // INVARIANT: `regular` leaves no `EndOrLastLine`.
            Assertion::End | Assertion::EndOrLastLine => Self::END,
            Assertion::LineStart => Self::LINE_START,
            Assertion::LineEnd => Self::LINE_END,
            Assertion::WordBoundary => Self::BOUNDARY,
            Assertion::NotWordBoundary => Self::NO_BOUNDARY,
        }
    }

    /// All conditions that hold between these two sides.
    #[inline]
    pub(super) fn between(before: Side, behind: Side) -> Self {
        const HOLDING: [[Conditions; 4]; 4] = {
            let sides = [Side::Nothing, Side::Word, Side::LineFeed, Side::Other];
            let (mut table, mut place) = ([[Conditions::NONE; 4]; 4], 0);
            while place < 16 {
                table[place / 4][place % 4] = Conditions::holding(sides[place / 4], sides[place % 4]);
                place += 1;
            }
            table
        };
        HOLDING[before as usize][behind as usize]
    }

    const fn holding(before: Side, behind: Side) -> Self {
        let mut all = match (before, behind) {
            (Side::Word, Side::Word) => Self::NO_BOUNDARY,
            (Side::Word, _) | (_, Side::Word) => Self::BOUNDARY,
            _ => Self::NO_BOUNDARY,
        };
        all = match before {
            Side::Nothing => all.and(Self::START).and(Self::LINE_START),
            Side::LineFeed => all.and(Self::LINE_START),
            Side::Word | Side::Other => all,
        };
        match behind {
            Side::Nothing => all.and(Self::END).and(Self::LINE_END),
            Side::LineFeed => all.and(Self::LINE_END),
            Side::Word | Side::Other => all,
        }
    }

    /// Tells these conditions from all others: a number below 64.
    pub(super) const fn number(self) -> u8 {
        self.0
    }

    /// The conditions with this number.
    pub(super) const fn numbered(number: u8) -> Self {
        Self(number)
    }

    /// Both these and those.
    #[must_use]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these are among those that hold.
    #[inline]
    pub(super) const fn are_met(self, holding: Self) -> bool {
        self.0 & !holding.0 == 0
    }

    /// Whether they can hold at one place.
    pub(super) const fn is_possible(self) -> bool {
        self.0 & (Self::BOUNDARY.0 | Self::NO_BOUNDARY.0) != Self::BOUNDARY.0 | Self::NO_BOUNDARY.0
    }

    /// Whether they ask for the start of the value.
    pub(super) const fn want_start(self) -> bool {
        self.0 & Self::START.0 != 0
    }

    /// Whether any of these depends on what kind of byte lies at a side.
    pub(super) const fn depend_on(self, side: Side) -> bool {
        let bits = match side {
            Side::Nothing => Self::START.0 | Self::LINE_START.0,
            Side::Word => Self::BOUNDARY.0 | Self::NO_BOUNDARY.0,
            Side::LineFeed => Self::LINE_START.0 | Self::LINE_END.0,
            Side::Other => 0,
        };
        self.0 & bits != 0
    }
}
