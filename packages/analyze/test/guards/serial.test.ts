import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIn } from '../support/races.ts'

async function isSilent(source: string): Promise<boolean> {
  const findings = await findIn(source)
  return findings.every((finding) => finding.rule !== 'H101')
}

const body = 'if (!this.c) this.c = await connect(); return this.c'

test('a method that all callers call under a reservation is serial', async () => {
  const source = `export class A {
  get() {
    if (this.pending) return this.pending
    this.pending = this.load()
    return this.pending
  }
  private async load() { ${body} }
}`
  assert.ok(await isSilent(source))
  assert.ok(
    !(await isSilent(source.replace('get() {', 'other() { return this.load() }\n  get() {'))),
  )
})

test('a link of a promise chain is serial', async () => {
  const source = `export class A {
  tail = Promise.resolve()
  get() {
    this.tail = this.tail.then(() => this.load())
    return this.tail
  }
  private async load() { ${body} }
}`
  assert.ok(await isSilent(source))
  assert.ok(!(await isSilent(source.replace('this.tail = this.tail', 'const other = this.tail'))))
})

test('@serial is believed', async () => {
  const source = `export class A {
  /** @serial */
  async load() { ${body} }
}`
  assert.ok(await isSilent(source))
  assert.ok(!(await isSilent(source.replace('@serial', 'serial'))))
})

test('a serial method stays serial through another one', async () => {
  const source = `export class A {
  get() {
    if (this.pending) return this.pending
    this.pending = this.first()
    return this.pending
  }
  private async first() { return this.load() }
  private async load() { ${body} }
}`
  assert.ok(await isSilent(source))
})
