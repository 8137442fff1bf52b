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
  {
    name: 'an answer that is kept in a field and looked at is not thrown away',
    race: `export class Job {
  async run() {
    await this.lock.tryAcquire(1000)
    await post('x')
  }
}
`,
    fixed: `export class Job {
  async run() {
    this.held = await this.lock.tryAcquire(1000)
    if (this.held) await post('x')
  }
}
`,
  },
])
