// Package decide says what to do next: from a [Case] (what a look has found, what
// is wanted, what this call alone can know) to one [Act]. It is pure: there is no
// clock, no connection and no hook in it, so that the whole safety argument can be
// read here, and tested to the last cell.
//
// [Next] is the decision table of a join, by either of two ways in: [Learning] and
// [Voting]. [Gate] guards the vote. [Undoing] and [Removal] are the other aims.
package decide
