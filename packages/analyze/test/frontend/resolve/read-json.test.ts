import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { readJsonObject } from '../../../src/frontend/resolve/read-json.ts'
import { tempFolder } from '../../support/temp-folder.ts'

test('comments, trailing commas and a byte order mark are accepted, text that looks like them is kept', (t) => {
  const folder = tempFolder(t, {
    'a.json': '\uFEFF{ // one\n "a": "//not", /* two */ "b": [1, 2,], "c": "x,}", }',
    'broken.json': '{',
    'list.json': '[1]',
  })
  assert.deepEqual(readJsonObject(path.join(folder, 'a.json')), {
    a: '//not',
    b: [1, 2],
    c: 'x,}',
  })
  for (const name of ['broken.json', 'list.json', 'missing.json']) {
    assert.equal(readJsonObject(path.join(folder, name)), undefined)
  }
})
