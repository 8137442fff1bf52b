import { raceTests } from '../support/races.ts'

raceTests('H304', [
  {
    name: 'a connection that is entered after the handshake',
    extension: 'js',
    check: 'handshake',
    act: 'this.peers.add',
    race: `class Hub {
  constructor() {
    this.peers = new Set()
  }
  accept(socket) {
    handshake(socket).then((peer) => {
      this.peers.add(peer)
    })
  }
  close() {
    this.peers.forEach((peer) => peer.destroy())
  }
}
module.exports = Hub
`,
    fixed: `class Hub {
  constructor() {
    this.peers = new Set()
  }
  accept(socket) {
    this.peers.add(socket)
    handshake(socket).catch(() => this.peers.delete(socket))
  }
  close() {
    this.peers.forEach((peer) => peer.destroy())
  }
}
module.exports = Hub
`,
  },
  {
    name: 'close() goes through parts of elements',
    act: 'this.k1.push({ a })',
    race: `export class C {
  k1 = []
  async open(far, port) {
    const a = await far.open(port)
    this.k1.push({ a })
  }
  close() {
    for (const { a } of this.k1) a.close()
  }
}
`,
    fixed: `export class C {
  k1 = []
  k2 = false
  async open(far, port) {
    const a = await far.open(port)
    if (this.k2) return a.close()
    this.k1.push({ a })
  }
  close() {
    this.k2 = true
    for (const { a } of this.k1) a.close()
  }
}
`,
  },
  {
    name: 'close() goes through entries by their names',
    act: 'this.k1[port] = a',
    race: `export class C {
  k1 = {}
  async open(far, port) {
    const a = await far.open(port)
    this.k1[port] = a
  }
  close() {
    for (const port in this.k1) this.k1[port].close()
  }
}
`,
    fixed: `export class C {
  k1 = {}
  k2 = false
  async open(far, port) {
    const a = await far.open(port)
    if (this.k2) return a.close()
    this.k1[port] = a
  }
  close() {
    this.k2 = true
    for (const port in this.k1) this.k1[port].close()
  }
}
`,
  },
  {
    name: 'close() goes through entries of a map, with their keys',
    act: 'this.k1.set(port, a)',
    race: `export class C {
  k1 = new Map()
  async open(far, port) {
    const a = await far.open(port)
    this.k1.set(port, a)
  }
  close() {
    for (const [port, a] of this.k1) a.close()
  }
}
`,
    fixed: `export class C {
  k1 = new Map()
  k2 = false
  async open(far, port) {
    const a = await far.open(port)
    if (this.k2) return a.close()
    this.k1.set(port, a)
  }
  close() {
    this.k2 = true
    for (const [port, a] of this.k1) a.close()
  }
}
`,
  },
  {
    name: 'close() goes through elements by their numbers',
    act: 'this.k1.push(a)',
    race: `export class C {
  k1 = []
  async open(far, port) {
    const a = await far.open(port)
    this.k1.push(a)
  }
  close() {
    for (let at = 0; at < this.k1.length; at++) this.k1[at].close()
  }
}
`,
    fixed: `export class C {
  k1 = []
  k2 = false
  async open(far, port) {
    const a = await far.open(port)
    if (this.k2) return a.close()
    this.k1.push(a)
  }
  close() {
    this.k2 = true
    for (let at = 0; at < this.k1.length; at++) this.k1[at].close()
  }
}
`,
  },
  {
    name: 'close() goes through the last element, until there is none',
    act: 'this.k1.push(a)',
    race: `export class C {
  k1 = []
  async open(far, port) {
    const a = await far.open(port)
    this.k1.push(a)
  }
  close() {
    let a
    while ((a = this.k1.pop())) a.close()
  }
}
`,
    fixed: `export class C {
  k1 = []
  k2 = false
  async open(far, port) {
    const a = await far.open(port)
    if (this.k2) return a.close()
    this.k1.push(a)
  }
  close() {
    this.k2 = true
    let a
    while ((a = this.k1.pop())) a.close()
  }
}
`,
  },
])
