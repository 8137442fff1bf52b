import { raceTests } from '../support/races.ts'

const component = (stop: string): string => `export class Renewal {
  closed = false
  timer: unknown
  jobs = new Map<string, number>()
  start() {
    if (this.closed) return
    this.timer = setTimeout(async () => {
      for (const job of this.jobs.keys()) this.jobs.set(job, now())
      await far()
      this.start()
    }, 10)
  }
  add() {
    if (this.closed) throw new Error('closed')
  }
  close() {
    this.closed = true
    ${stop}
    this.jobs.clear()
  }
}
`

raceTests('H201', [
  {
    name: 'a timer that is not taken back works on what close() has emptied',
    check: 'if (this.closed) return',
    act: 'this.jobs.set',
    race: component(''),
    fixed: component('clearTimeout(this.timer)'),
  },
  {
    name: 'the timer is taken back by a function that close() calls',
    check: 'if (this.closed) return',
    act: 'this.jobs.set',
    race: component('this.#log()'),
    fixed: component('this.#clear()').replace(
      /\}\n$/,
      '  #clear() {\n    clearTimeout(this.timer)\n  }\n}\n',
    ),
  },
])

const closure = (stop: string): string => `export function limit(socket: Socket) {
  let inner: unknown = null
  const outer = lib.later(() => {
    inner = setTimeout(() => socket.destroy(), 10)
  }, 100)
  return () => {
    ${stop}
    clearTimeout(inner)
  }
}
`

raceTests('H308', [
  {
    name: 'the answer of the wait is passed to what takes it back',
    act: 'inner = setTimeout',
    race: closure('log()'),
    fixed: closure('lib.cancel(outer)'),
  },
])
