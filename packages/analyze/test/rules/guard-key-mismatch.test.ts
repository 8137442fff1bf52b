import { raceTests } from '../support/races.ts'

raceTests('H306', [
  {
    name: 'a lock by user over state by account',
    act: 'totals.set',
    race: `const totals = new Map<string, number>()
export async function book(user: string, account: string, locks: Locks) {
  await locks.acquire(user, async () => {
    const total = totals.get(account) ?? 0
    await audit(user)
    totals.set(account, total + 1)
  })
}
`,
    fixed: `const totals = new Map<string, number>()
export async function book(user: string, account: string, locks: Locks) {
  await locks.acquire(account, async () => {
    const total = totals.get(account) ?? 0
    await audit(user)
    totals.set(account, total + 1)
  })
}
`,
  },
])
