import { raceTests } from '../support/races.ts'

const later = (wait: string): { race: string; fixed: string } => ({
  race: `export class C {
  again() {
    ${wait}(() => {
      this.begin()
    })
  }
  begin() {
    this.k1 = setTimeout(() => this.again(), 100)
  }
  close() {
    clearTimeout(this.k1)
  }
}
`,
  fixed: `export class C {
  k2 = false
  again() {
    ${wait}(() => {
      if (!this.k2) this.begin()
    })
  }
  begin() {
    this.k1 = setTimeout(() => this.again(), 100)
  }
  close() {
    this.k2 = true
    clearTimeout(this.k1)
  }
}
`,
})

raceTests('H308', [
  { name: 'a function that stores nothing itself, in the next turn', ...later('setImmediate') },
  { name: 'at the end of this turn', ...later('process.nextTick') },
  { name: 'after an answer', ...later("fetch('x').then") },
])
