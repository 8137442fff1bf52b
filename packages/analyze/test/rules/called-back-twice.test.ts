import { raceTests } from '../support/races.ts'

const register = (late: string): string => `export class Calls {
  pending = new Map<string, (...args: unknown[]) => void>()
  register(id: string, done: (...args: unknown[]) => void) {
    const timer = setTimeout(() => {
      ${late}
      done(new Error('late'))
    }, 10)
    this.pending.set(id, (...args) => {
      clearTimeout(timer)
      done(null, ...args)
    })
  }
}
`

raceTests('H208', [
  {
    name: 'the timer leaves the other caller where it is found',
    act: 'done(null',
    race: register('log(id)'),
    fixed: register('this.pending.delete(id)'),
  },
])
