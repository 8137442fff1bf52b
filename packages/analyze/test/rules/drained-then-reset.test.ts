import { raceTests } from '../support/races.ts'

raceTests('H506', [
  {
    name: 'a name for the list, which the twin walks once more',
    race: `export class C {
  k1 = []
  add(a) {
    this.k1.push(a)
  }
  async flush(to) {
    const all = this.k1
    await to.send(all)
    this.k1 = []
  }
}
`,
    fixed: `export class C {
  k1 = []
  add(a) {
    this.k1.push(a)
  }
  async flush(to) {
    const all = this.k1
    await to.prepare()
    this.k1 = []
    await to.send(all)
  }
}
`,
  },
  {
    name: 'clear() of a map',
    race: `export class C {
  k1 = new Map()
  add(key, a) {
    this.k1.set(key, a)
  }
  async flush(to) {
    const all = [...this.k1.values()]
    await to.send(all)
    this.k1.clear()
  }
}
`,
    fixed: `export class C {
  k1 = new Map()
  add(key, a) {
    this.k1.set(key, a)
  }
  async flush(to) {
    const all = [...this.k1.values()]
    this.k1.clear()
    await to.send(all)
  }
}
`,
  },
  {
    name: 'a text',
    race: `let k1 = ''
export function add(a) {
  k1 += a
}
export async function flush(to) {
  await to.send(k1)
  k1 = ''
}
`,
    fixed: `let k1 = ''
export function add(a) {
  k1 += a
}
export async function flush(to) {
  const all = k1
  k1 = ''
  await to.send(all)
}
`,
  },
])
