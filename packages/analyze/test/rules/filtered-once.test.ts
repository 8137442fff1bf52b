import { raceTests } from '../support/races.ts'

raceTests('H314', [
  {
    name: 'a condition around the settling',
    check: 'once(',
    race: `export class C {
  constructor(k1) {
    this.k1 = k1
  }
  async m1(k2) {
    await Promise.all([
      new Promise((a) => {
        this.k1.once('x', (b) => {
          if (b.k3 === k2) {
            a()
          }
        })
      }),
      this.k1.send(k2),
    ])
  }
}
`,
    fixed: `export class C {
  constructor(k1) {
    this.k1 = k1
  }
  async m1(k2) {
    let done
    const listener = (b) => {
      if (b.k3 !== k2) return
      this.k1.off('x', listener)
      done()
    }
    await Promise.all([
      new Promise((a) => {
        done = a
        this.k1.on('x', listener)
      }),
      this.k1.send(k2),
    ])
  }
}
`,
  },
  {
    name: 'an early return, and a time limit in the twin',
    extension: 'js',
    race: `const bus = require('./bus')
exports.m1 = function (k2) {
  return new Promise(function (a) {
    bus.once('x', function (b) {
      if (b !== k2) return
      a(b)
    })
  })
}
`,
    fixed: `const bus = require('./bus')
exports.m1 = function (k2) {
  return new Promise(function (a, c) {
    bus.once('x', function (b) {
      if (b !== k2) return
      a(b)
    })
    setTimeout(c, 1000)
  })
}
`,
  },
  {
    name: 'a state is compared with a constant in the twin, not with something of the caller',
    race: `export function m1(bus, k2) {
  return new Promise((a) => {
    bus.once('x', ({ k3 }) => {
      if (k3 === k2) a()
    })
  })
}
`,
    fixed: `export function m1(bus, k2) {
  return new Promise((a) => {
    bus.once('x', ({ k3 }) => {
      if (k3 === 'ready') a()
    })
  })
}
`,
  },
])
