import assert from 'node:assert/strict'
import { test } from 'node:test'
import { originOf } from '../../../src/frontend/types/origin.ts'

test('the place of a declaration says which package declares it', () => {
  const language = { kind: 'language' }
  assert.deepEqual(originOf('bundled:///libs/lib.es5.d.ts'), language)
  assert.deepEqual(originOf('/x/node_modules/typescript/lib/lib.es2015.promise.d.ts'), language)
  assert.deepEqual(originOf('/x/node_modules/typescript-6/lib/lib.dom.d.ts'), language)
  const node = (module: string): object => ({ kind: 'node', module })
  const types = '/x/node_modules/@types/node'
  assert.deepEqual(originOf(`${types}/fs/promises.d.ts`), node('fs/promises'))
  assert.deepEqual(originOf(`${types}/buffer.buffer.d.ts`), node('buffer'))
  assert.deepEqual(originOf(`${types}/ts5.6/globals.d.ts`), node('globals'))
  assert.deepEqual(originOf('C:\\x\\node_modules\\@types\\node\\net.d.ts'), node('net'))
  const from = (name: string): object => ({ kind: 'package', name })
  assert.deepEqual(originOf('/x/node_modules/async-mutex/lib/Mutex.d.ts'), from('async-mutex'))
  assert.deepEqual(originOf('/x/node_modules/@scope/a/b.d.ts'), from('@scope/a'))
  assert.deepEqual(originOf('/x/node_modules/@types/express/index.d.ts'), from('express'))
  assert.deepEqual(originOf('/x/node_modules/@types/babel__core/index.d.ts'), from('@babel/core'))
  assert.deepEqual(originOf('/x/node_modules/.pnpm/pg@8/node_modules/pg/a.d.ts'), from('pg'))
  assert.deepEqual(originOf('/x/src/a.ts'), { kind: 'program', file: '/x/src/a.ts' })
})
