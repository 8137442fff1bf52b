import { raceTests } from '../support/races.ts'

raceTests('H302', [
  {
    name: 'an answer that is thrown away',
    check: 'tryLock',
    race: `export async function guarded(lock: Lock) {
  await lock.tryLock(500)
  await work()
}
`,
    fixed: `export async function guarded(lock: Lock) {
  if (!(await lock.tryLock(500))) throw new Error('busy')
  await work()
}
`,
  },
])
