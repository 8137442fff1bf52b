import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { api } from '../../src/client/contract/api.ts'
import type { Contract } from '../../src/client/contract/contract.ts'
import { version } from '../../src/http/admin-room.ts'
import { openApiOf, type OpenApi } from '../../src/http/openapi.ts'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

const contracts: readonly Contract[] = api
const document = openApiOf(contracts, version)

const namesOf = (of: Pick<OpenApi, 'paths'>): string[] =>
  Object.entries(of.paths)
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    .toSorted()

test('a server serves exactly the routes that the client knows', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const { status, body } = await call(server, '/openapi.json')
  assert.equal(status, 200)
  const served = body as unknown as OpenApi
  assert.deepEqual(namesOf(served), namesOf(document))
  assert.ok(namesOf(served).length >= 10)
  assert.equal(served.openapi, '3.1.0')
})

test('every reference leads somewhere, every parameter of a path is described', () => {
  const text = JSON.stringify(document)
  const named = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)]
  assert.ok(named.length > 0)
  for (const [, name] of named) assert.ok(Object.hasOwn(document.components.schemas, name!), name)
  for (const [path, methods] of Object.entries(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const { parameters } of Object.values(methods)) {
      const described = (parameters as { in: string; name: string }[]).filter(
        (one) => one.in === 'path',
      )
      assert.deepEqual(
        described.map(({ name }) => name),
        inPath,
      )
    }
  }
})

test('it has no words of our own: `expected` is for messages', () => {
  assert.doesNotMatch(JSON.stringify(document), /"expected"/)
})

test('its version is that of the package', () => {
  const file = new URL('../../package.json', import.meta.url)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  assert.equal(version, manifest.version)
})
