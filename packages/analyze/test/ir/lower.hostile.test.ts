import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyze } from '../../src/index.ts'

async function analyse(text: string) {
  return analyze({
    root: '/program',
    files: ['/program/bad.ts', '/program/good.ts'],
    types: 'none',
    overlays: new Map([
      ['/program/bad.ts', text],
      [
        '/program/good.ts',
        `export class A { client: unknown\n async get() { if (!this.client) this.client = await connect()\n return this.client } }`,
      ],
    ]),
  })
}

async function keepsTheRest(text: string): Promise<void> {
  const { findings } = await analyse(text)
  assert.ok(
    findings.some((finding) => finding.file === 'good.ts' && finding.rule === 'H101'),
    'the other file is still analysed',
  )
}

test('a function of 20,000 lines is analysed', async () => {
  const lines = Array.from(
    { length: 20_000 },
    (_, at) => `  if (this.a${at % 50}) this.b${at % 50} = await f(${at})`,
  )
  await keepsTheRest(`export class Big { async run() {\n${lines.join('\n')}\n} }`)
})

test('a sum of 50,000 terms, an else-if of 5,000 arms, a chain of 2,000 calls', async () => {
  await keepsTheRest(`export const sum = ${Array.from({ length: 50_000 }, () => 'x').join(' + ')}`)
  const arms = Array.from({ length: 900 }, (_, at) => `if (a === ${at}) b()`).join(' else ')
  await keepsTheRest(`export function f(a) { ${arms} }`)
  await keepsTheRest(`export const chain = x${'.then(() => 1)'.repeat(400)}`)
  await keepsTheRest(`export function far() { x${'.a'.repeat(8_000)}() }`)
})

test('a state machine with the same label twice, or with labels that are not numbers', async () => {
  for (const labels of ['case 0: case 1: case 1:', 'case 0: case a: case b: default:'])
    await keepsTheRest(`var __awaiter, __generator
      function connect() {
        return __awaiter(this, void 0, void 0, function () {
          return __generator(this, function (_b) {
            switch (_b.label) { ${labels} return [2, this.client] }
          })
        })
      }`)
})

test('code that is nested too deeply is reported and left out', async () => {
  const { diagnostics } = await analyse(`export const deep = ${'['.repeat(700)}${']'.repeat(700)}`)
  assert.ok(diagnostics.some((one) => one.kind === 'function-too-complex' && one.file === 'bad.ts'))
  await keepsTheRest(`export const deep = ${'['.repeat(700)}${']'.repeat(700)}`)
})

test('broken code, empty code and text that is not code', async () => {
  for (const text of [
    '',
    'class {',
    '\u0000\u0001',
    'export * from "./bad.ts"',
    'return await yield',
    '}',
  ])
    await keepsTheRest(text)
})
