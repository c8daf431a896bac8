// Package access decides who may do what. It contains permissions, roles, memberships, and the checks at the start of every service method.
//
// # The second person
//
// For each [Pair] of permissions, one to request and one to approve, a workspace is in one of these states. A person "counts" if they may
// approve and their permission is old enough. Only active members affect the state, never machine clients.
//
//	           a second person is there:                      the last other one who counts goes:
//	           they count at once                             removed, demoted, disabled, or left
//	 one ──────────────────────────────────▶ two ─────────────────────────────────────────▶ vacant
//	  ▲                                       ▲  ▲                                           │  │
//	  │                                       │  └── another one counts: granted alone, when │  │
//	  │                                       │      the time ends; by an operator, after   │  │
//	  │                                       │      the wait of a new approver ────────────┘  │
//	  │      another one is granted           │                                                │
//	  └─── formerly two ──────────────────────┘                                                │
//	           ▲   (counts after the wait)                                                     │
//	           └──────────────── 72 hours, or 144 if an approver or an owner extends it ───────┘
//
//	one            changes need one person; there never were two
//	two            changes need two; a new approver counts after the wait (24 hours by default)
//	vacant         changes need two though there is one: they wait
//	formerly two   changes need one person again, until another one may approve
//
// TestNoSequenceOfOnePersonsOperationsMakesThemTwoOrOne checks these invariants for random sequences:
//
//   - One person cannot become two by inviting themselves. In the state two, a grant of approve needs a second person who counts. In the
//     state vacant there is none, so a grant applies at once and counts when the time ends. Approvers and owners are mailed. A person who
//     was allowed to request in that time does not count as someone other than the approver, nor does a machine client that was created or
//     got a new secret then.
//   - One person cannot become the only one by removing the others. One person can remove access, with immediate effect, but the demand
//     outlives it. Only people who count prolong the state two, so a puppet user does not. [SecondPerson] records when they were last
//     seen.
//   - One person cannot become two as the only approver. While someone else may request, an approver whom they add counts later: when
//     the demand would end if they had just become the last one. See [SecondPerson.GrantNotBefore]. Everyone is notified and may extend
//     that time, as in the state vacant.
//   - Both times are settings of the workspace. A shorter one needs the second person of every pair, since the pairs share them.
//   - One person can make a policy in the states one and formerly two. Where it is looser than the default, it is in force only in those
//     states: see [SecondPerson.Suspended].
//   - A role that an approval requires counts if it was held before the request. A newer one counts once the wait has passed since two
//     people granted it: see [SecondPerson.RoleCountsFrom].
package access
