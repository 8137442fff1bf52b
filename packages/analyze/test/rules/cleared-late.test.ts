import { raceTests } from '../support/races.ts'

raceTests('H509', [
  {
    name: 'a field is saved and then no longer marked',
    check: 'if (!this.k2) return',
    act: 'this.k2 = false',
    race: `export class C {
  k1 = ''
  k2 = false
  change(a) {
    this.k1 = a
    this.k2 = true
  }
  async save(to) {
    if (!this.k2) return
    await to.write(this.k1)
    this.k2 = false
  }
}
`,
    fixed: `export class C {
  k1 = ''
  k2 = false
  change(a) {
    this.k1 = a
    this.k2 = true
  }
  async save(to) {
    if (!this.k2) return
    this.k2 = false
    await to.write(this.k1)
  }
}
`,
  },
  {
    name: 'entries of a map; a connection in the twin is used and not saved',
    race: `const k1 = new Map()
let k2 = false
export function change(key, a) {
  k1.set(key, a)
  k2 = true
}
export async function save(to) {
  if (k2) {
    await to.write([...k1.values()])
    k2 = false
  }
}
`,
    fixed: `let k1
let k2 = false
export async function open(to) {
  k1 = await to.open()
  k2 = true
}
export async function leave() {
  if (k2) {
    await k1.leave()
    k2 = false
  }
}
`,
  },
])
