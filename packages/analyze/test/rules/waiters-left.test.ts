import { raceTests } from '../support/races.ts'

raceTests('H407', [
  {
    name: 'what would answer is closed, and nothing goes through all waiters',
    act: 'this.k2.close()',
    race: `export class C {
  k1 = new Map()
  constructor(k2) {
    this.k2 = k2
    k2.on('x', (a) => {
      const one = this.k1.get(a.id)
      this.k1.delete(a.id)
      one.a(a)
    })
  }
  call(id) {
    return new Promise((a, b) => {
      this.k1.set(id, { a, b })
      this.k2.send(id)
    })
  }
  close() {
    this.k2.close()
  }
}
`,
    fixed: `export class C {
  k1 = new Map()
  constructor(k2) {
    this.k2 = k2
    k2.on('x', (a) => {
      const one = this.k1.get(a.id)
      this.k1.delete(a.id)
      one.a(a)
    })
    k2.on('close', () => {
      for (const one of this.k1.values()) one.b()
    })
  }
  call(id) {
    return new Promise((a, b) => {
      this.k1.set(id, { a, b })
      this.k2.send(id)
    })
  }
  close() {
    this.k2.close()
  }
}
`,
  },
])
