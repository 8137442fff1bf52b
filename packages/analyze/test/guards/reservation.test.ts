import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIn } from '../support/races.ts'

async function races(source: string): Promise<string[]> {
  const findings = await findIn(source)
  return findings.filter((finding) => finding.rule === 'H101').map((finding) => finding.function)
}

const open = `export class Pool {
  client: unknown
  async get() {
    BEFORE
    if (!this.client) this.client = await connect()
    return this.client
  }
}
`

test('without a reservation the window is open', async () => {
  assert.deepEqual(await races(open.replace('BEFORE', '')), ['Pool.get'])
})

test('a flag that is checked and set in one region reserves', async () => {
  assert.deepEqual(
    await races(open.replace('BEFORE', 'if (this.busy) return; this.busy = true')),
    [],
  )
})

test('a flag that is set after a suspension does not', async () => {
  const late = 'if (this.busy) return; await tick(); this.busy = true'
  assert.notEqual((await races(open.replace('BEFORE', late))).length, 0)
})

test('a flag that is set without a check does not', async () => {
  assert.deepEqual(await races(open.replace('BEFORE', 'this.busy = true')), ['Pool.get'])
})

test('a flag that is reset before the window does not guard it', async () => {
  const early = 'if (this.busy) return; this.busy = true; this.busy = false'
  assert.deepEqual(await races(open.replace('BEFORE', early)), ['Pool.get'])
})

test('a flag that is set on one way only does not', async () => {
  const some = 'if (this.busy) return; if (lucky()) this.busy = true'
  assert.deepEqual(await races(open.replace('BEFORE', some)), ['Pool.get'])
})

test('a state that is compared and changed reserves', async () => {
  const state = `if (this.state !== 'idle') return; this.state = 'busy'`
  assert.deepEqual(await races(open.replace('BEFORE', state)), [])
})

test('the promise of an async block that is stored at once reserves', async () => {
  const source = `export class Agent {
  worker: unknown
  starting: Promise<void> | undefined
  async start() {
    if (this.worker) return
    if (this.starting) return this.starting
    this.starting = (async () => {
      await connect()
      this.worker = createWorker()
    })()
    await this.starting
  }
}
`
  assert.deepEqual(await races(source), [])
})

test('callbacks that the owner adds to a shared promise are not run by its waiters', async () => {
  const source = `export class Driver {
  #ready = false
  #init: Promise<void> | undefined
  async init() {
    this.#init ??= boot().then(() => {
      this.#ready = true
    })
    await this.#init
  }
  async acquire() {
    if (!this.#ready) await this.init()
    return lease()
  }
}
`
  assert.deepEqual(await races(source), [])
})

test('callers that wait for a reservation are not in the window', async () => {
  const source = `export class Link {
  ready = false
  readying: Promise<void> | undefined
  async connect() {
    if (!this.ready) await (this.readying ?? this.prepare())
  }
  prepare() {
    this.readying = this.greet()
    return this.readying
  }
  private async greet() {
    await hello()
    this.ready = true
  }
}
`
  assert.deepEqual(await races(source), [])
})
