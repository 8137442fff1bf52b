/** Methods that are put on a prototype in other ways than one by one. */
import { raceTests } from '../support/races.ts'

const both = (methods: (open: string) => string) => ({
  race: methods(''),
  fixed: methods('if (this.k1) return s.end()'),
})

raceTests('H101', [
  {
    name: 'an alias of the prototype',
    extension: 'js',
    ...both(
      (look) => `const far = require('far')
function C() {
  this.k1 = null
}
const p = C.prototype
p.open = async function () {
  if (this.k1) return
  const s = await far.dial()
  ${look}
  this.k1 = s
}
p.close = function () {
  if (this.k1) this.k1.end()
  this.k1 = null
}
module.exports = C
`,
    ),
  },
  {
    name: 'an object that is copied to the prototype',
    extension: 'js',
    ...both(
      (look) => `const far = require('far')
function C() {
  this.k1 = null
}
Object.assign(C.prototype, {
  async open() {
    if (this.k1) return
    const s = await far.dial()
    ${look}
    this.k1 = s
  },
  close() {
    if (this.k1) this.k1.end()
    this.k1 = null
  },
})
module.exports = C
`,
    ),
  },
])
