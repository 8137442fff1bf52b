import { raceTests } from '../support/races.ts'

raceTests('H104', [
  {
    name: 'a counter that is taken after the listeners have run',
    check: 'this.free <= 0',
    act: 'this.free -= 1',
    race: `import { EventEmitter } from 'node:events'
export class Slots extends EventEmitter {
  free = 2
  take() {
    if (this.free <= 0) return false
    this.emit('take')
    this.free -= 1
    return true
  }
}
`,
    fixed: `import { EventEmitter } from 'node:events'
export class Slots extends EventEmitter {
  free = 2
  take() {
    if (this.free <= 0) return false
    this.free -= 1
    this.emit('take')
    return true
  }
}
`,
  },
])
