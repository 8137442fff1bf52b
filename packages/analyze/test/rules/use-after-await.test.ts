import { raceTests } from '../support/races.ts'

raceTests('H201', [
  {
    name: 'a flag that is looked at again elsewhere, but not here',
    check: 'if (this.closed)',
    act: 'this.storage.compact',
    race: `export class Sync {
  closed = false
  async run() {
    if (this.closed) return
    await pull()
    if (this.closed) return
    await idle()
    this.storage.compact()
  }
  close() {
    this.closed = true
    this.storage.close()
  }
}
`,
    fixed: `export class Sync {
  closed = false
  async run() {
    if (this.closed) return
    await pull()
    if (this.closed) return
    await idle()
    if (this.closed) return
    this.storage.compact()
  }
  close() {
    this.closed = true
    this.storage.close()
  }
}
`,
  },
  {
    name: 'an alias of what close() gives up',
    check: 'this.connection',
    act: 'connection.query',
    race: `export class Database {
  connection: Connection | null = null
  async query(sql: string) {
    const connection = this.connection
    if (connection === null) throw new Error('closed')
    await this.turn()
    return connection.query(sql)
  }
  async turn() {
    await tick()
  }
  async close() {
    const connection = this.connection
    this.connection = null
    await connection?.end()
  }
}
`,
    fixed: `export class Database {
  connection: Connection | null = null
  async query(sql: string) {
    await this.turn()
    const connection = this.connection
    if (connection === null) throw new Error('closed')
    return connection.query(sql)
  }
  async turn() {
    await tick()
  }
  async close() {
    const connection = this.connection
    this.connection = null
    await connection?.end()
  }
}
`,
  },
  {
    name: 'a claim about a socket that may be gone',
    check: 'this.socket = await',
    act: 'this.ready = true',
    race: `export class Link {
  async connect() {
    this.socket = await dial()
    await this.handshake()
    this.ready = true
  }
  onClose() {
    this.ready = false
    this.socket = undefined
  }
  async handshake() {
    await greet()
  }
}
`,
    fixed: `export class Link {
  async connect() {
    this.socket = await dial()
    await this.handshake()
    if (!this.socket) throw new Error('closed')
    this.ready = true
  }
  onClose() {
    this.ready = false
    this.socket = undefined
  }
  async handshake() {
    await greet()
  }
}
`,
  },
  {
    name: 'a field that is there before the suspension and gone after it',
    check: 'if (!this.socket)',
    act: 'this.socket.write',
    race: `export class Wire {
  socket: Socket | undefined
  async send(text: string) {
    if (!this.socket) throw new Error('closed')
    const bytes = await encode(text)
    this.socket.write(bytes)
  }
  close() {
    this.socket?.end()
    this.socket = undefined
  }
}
`,
    fixed: `export class Wire {
  socket: Socket | undefined
  async send(text: string) {
    const bytes = await encode(text)
    if (!this.socket) throw new Error('closed')
    this.socket.write(bytes)
  }
  close() {
    this.socket?.end()
    this.socket = undefined
  }
}
`,
  },
  {
    name: 'a flag whose setter closes what is used',
    check: 'if (this.stopped)',
    act: 'this.channel.publish',
    race: `export class Feed {
  stopped = false
  async push(text: string) {
    if (this.stopped) return
    const body = await sign(text)
    this.channel.publish(body)
  }
  stop() {
    this.stopped = true
    this.channel.close()
  }
}
`,
    fixed: `export class Feed {
  stopped = false
  async push(text: string) {
    const body = await sign(text)
    if (this.stopped) return
    this.channel.publish(body)
  }
  stop() {
    this.stopped = true
    this.channel.close()
  }
}
`,
  },
  {
    name: 'an entry that was there before the wait',
    act: 'this.k1.get(id).send(a)',
    race: `export class C {
  k1 = new Map()
  add(id, one) {
    this.k1.set(id, one)
  }
  async send(id, a) {
    if (!this.k1.has(id)) return
    await fetch(a)
    this.k1.get(id).send(a)
  }
  remove(id) {
    this.k1.delete(id)
  }
}
`,
    fixed: `export class C {
  k1 = new Map()
  add(id, one) {
    this.k1.set(id, one)
  }
  async send(id, a) {
    if (!this.k1.has(id)) return
    await fetch(a)
    if (!this.k1.has(id)) return
    this.k1.get(id).send(a)
  }
  remove(id) {
    this.k1.delete(id)
  }
}
`,
  },
  {
    name: 'a handle that is stored after the end, which a function marks for another one',
    act: 'this.k1 = this.k3.begin(a)',
    race: `export class C {
  k1 = null
  k2 = false
  constructor(k3) {
    this.k3 = k3
  }
  end() {
    if (!this.k2) this.k2 = true
  }
  leave() {
    this.k1?.cancelWithReason('x')
    this.end()
  }
  begin() {
    if (this.k2) return
    this.k3.prepare().then((a) => {
      this.k1 = this.k3.begin(a)
    })
  }
}
`,
    fixed: `export class C {
  k1 = null
  k2 = false
  constructor(k3) {
    this.k3 = k3
  }
  end() {
    if (!this.k2) this.k2 = true
  }
  leave() {
    this.k1?.cancelWithReason('x')
    this.end()
  }
  begin() {
    if (this.k2) return
    this.k3.prepare().then((a) => {
      if (this.k2) return
      this.k1 = this.k3.begin(a)
    })
  }
}
`,
  },
])
