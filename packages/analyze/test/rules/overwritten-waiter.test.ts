import { raceTests } from '../support/races.ts'

raceTests('H313', [
  {
    name: 'the resolve of a waiting caller in a field',
    act: 'this.k1 = a',
    race: `export class C {
  k1 = null
  constructor(source) {
    source.on('x', () => {
      if (this.k1) this.k1()
      this.k1 = null
    })
  }
  wait() {
    return new Promise((a) => {
      this.k1 = a
    })
  }
}
`,
    fixed: `export class C {
  k1 = null
  constructor(source) {
    source.on('x', () => {
      if (this.k1) this.k1()
      this.k1 = null
    })
  }
  wait() {
    if (this.k1) throw new Error('one at a time')
    return new Promise((a) => {
      this.k1 = a
    })
  }
}
`,
  },
  {
    name: 'resolve and reject in a variable of the module, and a list',
    race: `let k1
export function settle(x) {
  if (k1) k1.a(x)
}
export async function wait() {
  await new Promise((a, b) => {
    k1 = { a, b }
  })
}
`,
    fixed: `const k1 = []
export function settle(x) {
  for (const one of k1.splice(0)) one.a(x)
}
export async function wait() {
  await new Promise((a, b) => {
    k1.push({ a, b })
  })
}
`,
  },
  {
    name: 'a function that settles, and a flag that keeps the second caller out',
    extension: 'js',
    race: `function C() {
  this.k1 = null
}
C.prototype.wait = function () {
  const self = this
  return new Promise(function (a) {
    self.k1 = function (x) {
      a(x)
    }
  })
}
C.prototype.onAnswer = function (x) {
  this.k1(x)
}
module.exports = C
`,
    fixed: `function C() {
  this.k1 = null
  this.k2 = false
}
C.prototype.wait = function () {
  const self = this
  if (this.k2) throw new Error('busy')
  this.k2 = true
  return new Promise(function (a) {
    self.k1 = function (x) {
      a(x)
    }
  })
}
C.prototype.onAnswer = function (x) {
  this.k2 = false
  this.k1(x)
}
module.exports = C
`,
  },
])
