import { raceTests } from '../support/races.ts'

raceTests('H504', [
  {
    name: 'a store that everyone else waits for',
    check: 'this.save(tokens)',
    race: `export class Tokens {
  async save(tokens: string) {
    return this.store.put(tokens)
  }
  async refresh() {
    const tokens = await request()
    this.save(tokens)
    return tokens
  }
  async login() {
    await this.save('first')
  }
}
`,
    fixed: `export class Tokens {
  async save(tokens: string) {
    return this.store.put(tokens)
  }
  async refresh() {
    const tokens = await request()
    await this.save(tokens)
    return tokens
  }
  async login() {
    await this.save('first')
  }
}
`,
  },
  {
    name: 'the continuation settles the promise that callers wait for',
    act: 'this.worker.terminate()',
    race: `export class Worker {
  async destroy() {
    await this.flush()
    this.worker.terminate().then(() => {
      this.port.close()
    })
    return true
  }
}
`,
    fixed: `export class Worker {
  async destroy() {
    let done
    const ended = new Promise((resolve) => {
      done = resolve
    })
    await this.flush()
    this.worker.terminate().then(() => {
      this.port.close()
      done()
    })
    return ended
  }
}
`,
  },
])
