/** Functions that are handed over by name: they continue what has handed them over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIn, raceTests } from '../support/races.ts'

const end = `  close() {
    if (this.k1) this.k1.end()
    this.k1 = null
  }
}
`

raceTests('H101', [
  {
    name: 'a method that is bound',
    check: 'if (this.k1)',
    race: `import * as far from 'far'
export class C {
  k1 = null
  open() {
    if (this.k1) return
    far.dial(this.k4.bind(this))
  }
  k4(error, s) {
    this.k1 = s
  }
${end}`,
    fixed: `import * as far from 'far'
export class C {
  k1 = null
  k2 = false
  open() {
    if (this.k1 || this.k2) return
    this.k2 = true
    far.dial(this.k4.bind(this))
  }
  k4(error, s) {
    this.k1 = s
  }
${end}`,
  },
  {
    name: 'a function that is declared after the call',
    extension: 'js',
    check: 'if (self.k1)',
    act: 'self.k1 = s',
    race: `const far = require('far')
function C() {
  this.k1 = null
}
C.prototype.open = function (done) {
  const self = this
  if (self.k1) return done()
  far.dial(onDial)
  function onDial(error, s) {
    if (error) return done(error)
    self.k1 = s
    done()
  }
}
C.prototype.close = function () {
  if (this.k1) this.k1.end()
  this.k1 = null
}
module.exports = C
`,
    fixed: `const far = require('far')
function C() {
  this.k1 = null
}
C.prototype.open = function (done) {
  const self = this
  if (self.k1) return done()
  far.dial(onDial)
  function onDial(error, s) {
    if (error) return done(error)
    if (self.k1) return s.end()
    self.k1 = s
    done()
  }
}
C.prototype.close = function () {
  if (this.k1) this.k1.end()
  this.k1 = null
}
module.exports = C
`,
  },
  {
    name: 'a function with a name that two calls are given',
    race: `import * as far from 'far'
let k1 = null
export function open(isNear) {
  if (k1) return
  const onDial = (error, s) => {
    k1 = s
  }
  if (isNear) far.pick(onDial)
  else far.dial(onDial)
}
export function close() {
  if (k1) k1.end()
  k1 = null
}
`,
    fixed: `import * as far from 'far'
let k1 = null
let k2 = false
export function open(isNear) {
  if (k1 || k2) return
  k2 = true
  const onDial = (error, s) => {
    k1 = s
  }
  if (isNear) far.pick(onDial)
  else far.dial(onDial)
}
export function close() {
  if (k1) k1.end()
  k1 = null
}
`,
  },
])

raceTests('H209', [
  {
    name: 'a handler that is assigned',
    race: `export class C {
  k1 = null
  open() {
    this.k1 = new Wire()
    this.k1.onclose = () => {
      this.k1 = null
    }
  }
  again() {
    this.k1.close()
    this.open()
  }
}
`,
    fixed: `export class C {
  k1 = null
  open() {
    const one = new Wire()
    this.k1 = one
    one.onclose = () => {
      if (this.k1 === one) this.k1 = null
    }
  }
  again() {
    this.k1.close()
    this.open()
  }
}
`,
  },
])

test('a function without parameters that is registered is not a wait of the function that registers it', async () => {
  const found = await findIn(`import * as far from 'far'
export function open(list) {
  let clients = []
  const startAll = () => {
    for (const one of clients) one.dispose()
    clients = list.map((folder) => new Client(folder))
  }
  startAll()
  far.command('restart', startAll)
  return {
    dispose() {
      for (const one of clients) one.dispose()
    },
  }
}
`)
  assert.deepEqual(
    found.filter(({ level }) => level !== 'note').map(({ message }) => message),
    [],
  )
})
