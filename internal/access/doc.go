// Package access decides who may do what: permissions, roles, memberships, and the checks that every service method begins with.
//
// # The second person
//
// For each [Pair] of permissions, one to request and one to approve, a workspace is in one of these states. "Counts" is that a person
// may approve and their permission is old enough; the state is about people who are active members, never about machine clients.
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
//	one            changes take one person; there never were two
//	two            changes take two; whoever becomes an approver counts after the wait (24 hours by default)
//	vacant         changes take two though there is one: they wait
//	formerly two   changes take one person again, until another one may approve
//
// The invariants, which TestNoSequenceOfOnePersonsOperationsMakesThemTwoOrOne checks for random sequences:
//
//   - Nobody becomes two by inviting themselves. In the state two, a grant of approve takes a second person who counts. In the state
//     vacant there is none, so it applies at once, approvers and owners are mailed, and it counts when the time ends. Whoever was
//     allowed to request meanwhile does not count as another person than the one who approves, either.
//   - Nobody becomes one by removing the others. Losing access takes one person and is immediate; the demand outlives it. Only people
//     who count prolong the state two ([SecondPerson] notes when they were last seen), so a puppet does not.
//   - Nobody becomes two by being the only approver. Whom they add, while someone else may request, counts when the demand would end if
//     they had just become the last one: [SecondPerson.GrantNotBefore]. Everyone is told, and may extend it, as in the state vacant.
//   - Both times are settings of the workspace. A shorter one takes the second person of every pair, since the pairs share them.
//   - A policy that one person made in the states one and formerly two is in force only there, where it is looser than the default:
//     [SecondPerson.Suspended].
//   - A role that an approval asks for counts if it was held before the request, or for the wait since two people granted it:
//     [SecondPerson.RoleCountsFrom].
package access
