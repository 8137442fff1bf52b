import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { makeApp } from '../../src/api/app.ts'
import type { ApiContext } from '../../src/api/context.ts'
import { openApi } from '../../src/api/openapi.ts'
import { Arrivals } from '../../src/lifecycle/arrivals.ts'
import { Connections } from '../../src/lifecycle/connections.ts'
import { OpenResponses } from '../../src/lifecycle/open-responses.ts'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'

/** Routes are registered without looking at what they will use. */
const noContext = {} as ApiContext

test('the document has the routes that there are, and no other', async () => {
  const app = makeApp(noContext, {
    bodyLimit: 1,
    makeServer: createServer,
    connections: new Connections({ most: 1, trustedProxies: [] }),
    arrivals: new Arrivals({ most: 1, limit: 1, clock: new VirtualClock() }),
    open: new OpenResponses(1),
    host: 'localhost',
  })
  await app.ready()
  const registered = new Set(
    app
      .printRoutes({ commonPrefix: false })
      .split('\n')
      .flatMap(routesOf)
      .filter((route) => !route.startsWith('HEAD ')),
  )
  const documented = new Set(
    Object.entries(openApi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      ),
    ),
  )
  assert.ok(registered.size >= 10)
  assert.deepEqual(registered, documented)
  await app.close()
})

/** The tree of routes, folded back: each line is a part below the line that is indented less. */
const above: { readonly depth: number; readonly path: string }[] = []

function routesOf(line: string): string[] {
  const [, indent, part, methods] = /^([│ ]*)[└├]── (\S+)(?: \(([^)]*)\))?/.exec(line) ?? []
  if (indent === undefined || part === undefined) return []
  while (above.length > 0 && above.at(-1)!.depth >= indent.length) above.pop()
  const path = `${above.at(-1)?.path ?? ''}${part}`
  above.push({ depth: indent.length, path })
  return (methods?.split(', ') ?? []).map((method) => `${method} ${path}`)
}

test('every reference leads somewhere, every parameter of a path is described', () => {
  const text = JSON.stringify(openApi)
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    assert.ok(Object.hasOwn(openApi.components.schemas, name!), name)
  }
  for (const [path, methods] of Object.entries(openApi.paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const operation of Object.values(methods) as {
      parameters?: { in: string; name: string }[]
    }[]) {
      const described = (operation.parameters ?? []).filter((one) => one.in === 'path')
      assert.deepEqual(
        described.map(({ name }) => name),
        named,
      )
    }
  }
})

test('it is served', async () => {
  const echo = job({ name: 'echo' }, (input: unknown) => input)
  await using server = await startServer({ jobs: [echo], port: 0 })
  const { status, body } = await call(server, '/openapi.json')
  assert.equal(status, 200)
  assert.deepEqual(body, JSON.parse(JSON.stringify(openApi)))
})
