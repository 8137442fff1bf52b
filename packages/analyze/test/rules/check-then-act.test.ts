import { raceTests } from '../support/races.ts'

raceTests('H101', [
  {
    name: 'a promise that is stored only when it has settled',
    extension: 'js',
    check: 'if (this.current)',
    act: 'this.current = createToken',
    race: `class Auth {
  token() {
    if (this.current) return Promise.resolve(this.current)
    return request('/token').then((answer) => {
      this.current = createToken(answer)
      return this.current
    })
  }
}
module.exports = Auth
`,
    fixed: `class Auth {
  token() {
    if (this.current) return this.current
    this.current = request('/token').then((answer) => createToken(answer))
    return this.current
  }
}
module.exports = Auth
`,
  },
  {
    name: 'a flag that is set in the callback',
    extension: 'js',
    check: 'if (self.listening)',
    act: 'self.listening = true',
    race: `function Server() {
  this.listening = false
}
Server.prototype.listen = function (port, done) {
  var self = this
  if (self.listening) return done()
  bind(port, function (error) {
    if (error) return done(error)
    self.listening = true
    done()
  })
}
module.exports = Server
`,
    fixed: `function Server() {
  this.listening = false
}
Server.prototype.listen = function (port, done) {
  var self = this
  if (self.listening) return done()
  self.listening = true
  bind(port, function (error) {
    if (error) self.listening = false
    done(error)
  })
}
module.exports = Server
`,
  },
  {
    name: 'a write in a function that is called after the suspension',
    check: 'if (!this.#connection)',
    race: `export class Client {
  #connection: unknown
  async query(sql: string) {
    if (!this.#connection) await this.#connect()
    return run(this.#connection, sql)
  }
  async #connect() {
    const found = await dial()
    this.#connection = found
  }
}
`,
    fixed: `export class Client {
  #connection: unknown
  #connecting: Promise<void> | undefined
  async query(sql: string) {
    if (!this.#connection) {
      this.#connecting ??= this.#connect()
      await this.#connecting
    }
    return run(this.#connection, sql)
  }
  async #connect() {
    const found = await dial()
    this.#connection = found
  }
}
`,
  },
  {
    name: 'generators that stand for async functions',
    extension: 'js',
    check: 'if (this.session)',
    act: 'this.session = made',
    race: `class Pool {
  open() {
    return __awaiter(this, void 0, void 0, function* () {
      if (this.session) return this.session
      const made = yield createSession()
      this.session = made
      return made
    })
  }
}
exports.Pool = Pool
`,
    fixed: `class Pool {
  open() {
    return __awaiter(this, void 0, void 0, function* () {
      if (this.session) return this.session
      const made = yield createSession()
      if (this.session) return this.session
      this.session = made
      return made
    })
  }
}
exports.Pool = Pool
`,
  },
  {
    name: 'async functions compiled to a switch',
    extension: 'js',
    check: 'if (!!this.client)',
    act: '_a.client =',
    race: `var Pool = (function () {
  function Pool() {
    this.client = null
  }
  Pool.prototype.connect = function () {
    return __awaiter(this, void 0, void 0, function () {
      var _a
      return __generator(this, function (_b) {
        switch (_b.label) {
          case 0:
            if (!!this.client) return [3, 2]
            _a = this
            return [4, createClient()]
          case 1:
            _a.client = _b.sent()
            _b.label = 2
          case 2:
            return [2, this.client]
        }
      })
    })
  }
  return Pool
})()
exports.Pool = Pool
`,
    fixed: `var Pool = (function () {
  function Pool() {
    this.client = null
  }
  Pool.prototype.connect = function () {
    return __awaiter(this, void 0, void 0, function () {
      return __generator(this, function (_b) {
        switch (_b.label) {
          case 0:
            if (!this.client) this.client = createClient()
            return [4, this.client]
          case 1:
            return [2, _b.sent()]
        }
      })
    })
  }
  return Pool
})()
exports.Pool = Pool
`,
  },
  {
    name: 'a loop that waits until it is free is not a race; one check before it is',
    check: 'if (this.busy) return false',
    act: 'this.busy = true',
    race: `export class Gate {
  busy = false
  async enter() {
    if (this.busy) await this.settle()
    await tick()
    if (false) return
    this.x = 1
  }
  async take() {
    if (this.busy) return false
    await tick()
    this.busy = true
    return true
  }
  async settle() {
    await tick()
  }
}
`,
    fixed: `export class Gate {
  busy = false
  async take() {
    while (this.busy) await tick()
    this.busy = true
    return true
  }
}
`,
  },
  {
    name: 'check and act under one mutex',
    race: `import { Mutex } from 'async-mutex'
export class Cache {
  readonly mutex = new Mutex()
  client: unknown
  async get() {
    if (!this.client) this.client = await connect()
    return this.client
  }
}
`,
    fixed: `import { Mutex } from 'async-mutex'
export class Cache {
  readonly mutex = new Mutex()
  client: unknown
  async get() {
    return this.mutex.runExclusive(async () => {
      if (!this.client) this.client = await connect()
      return this.client
    })
  }
}
`,
  },
  {
    name: 'a function that is only called in a promise chain',
    check: 'if (!this.#open)',
    act: 'this.#open = true',
    race: `export class Writer {
  #open = false
  write(line: string) {
    return this.#append(line)
  }
  async #append(line: string) {
    if (!this.#open) {
      await openFile()
      this.#open = true
    }
    await put(line)
  }
}
`,
    fixed: `export class Writer {
  #open = false
  #tail: Promise<void> = Promise.resolve()
  write(line: string) {
    this.#tail = this.#tail.then(() => this.#append(line))
    return this.#tail
  }
  async #append(line: string) {
    if (!this.#open) {
      await openFile()
      this.#open = true
    }
    await put(line)
  }
}
`,
  },
  {
    name: 'an entry that two callers store; one that is put back after a failure is none',
    act: 'this.aside.set',
    race: `export class Store {
  aside = new Map<string, Connection>()
  async get(name: string) {
    if (!this.aside.has(name)) {
      const made = await connect(name)
      this.aside.set(name, made)
    }
  }
  drop(name: string) {
    this.aside.get(name)?.close()
  }
}
`,
    fixed: `export class Store {
  aside = new Map<string, Work>()
  async retry(name: string) {
    const one = this.aside.get(name)
    if (one === undefined) throw new Error('unknown')
    this.aside.delete(name)
    try {
      await restore(one.work)
    } catch (error) {
      this.aside.set(name, one)
      throw error
    }
  }
  drop(name: string) {
    this.aside.delete(name)
  }
}
`,
  },
  {
    name: 'an answer that is kept',
    race: `export class C {
  async get(far) {
    if (!this.k1) {
      this.k1 = await far.find()
    }
    return this.k1
  }
}
`,
    fixed: `export class C {
  get(far) {
    if (!this.k1) {
      this.k1 = far.find()
    }
    return this.k1
  }
}
`,
  },
  {
    name: 'an entry that is found or else made is not a counter',
    act: 'k1.set(port, a)',
    race: `const k1 = new Map()
export async function get(far, port) {
  let a = k1.get(port)
  if (!a) {
    a = await far.open(port)
    k1.set(port, a)
  }
  return a
}
export async function close() {
  for (const [port, a] of k1) await a.close()
}
`,
    fixed: `const k1 = new Map()
export function get(far, port) {
  let a = k1.get(port)
  if (!a) {
    a = far.open(port)
    k1.set(port, a)
  }
  return a
}
export async function close() {
  for (const [port, a] of k1) await (await a).close()
}
`,
  },
  {
    name: 'an answer replaces what was given for it',
    race: `export class C {
  async get(far) {
    if (this.k1.ends < Date.now()) {
      const { data } = await far.again(this.k1.ticket)
      this.k1 = data
    }
    return this.k1
  }
}
`,
    fixed: `export class C {
  async get(far) {
    if (this.k2) await this.k2
    if (this.k1.ends < Date.now()) {
      this.k2 = far.again(this.k1.ticket).then(({ data }) => {
        this.k1 = data
        this.k2 = null
      })
      await this.k2
    }
    return this.k1
  }
}
`,
  },
])
