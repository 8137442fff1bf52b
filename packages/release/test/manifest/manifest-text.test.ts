import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeManifest, formatLike, parseJsonManifest } from '../../src/manifest/manifest-text.ts'

const manifest = { name: 'a', files: ['x'] }

test('indentation, line ends and the last line are those of the original', () => {
  for (const style of [
    '{\n  "name": "a",\n  "files": [\n    "x"\n  ]\n}\n',
    '{\n\t"name": "a",\n\t"files": [\n\t\t"x"\n\t]\n}',
    '{\r\n    "name": "a",\r\n    "files": [\r\n        "x"\r\n    ]\r\n}\r\n',
    '{"name":"a","files":["x"]}\n',
  ]) {
    assert.equal(formatLike(manifest, style), style)
  }
  assert.equal(formatLike(manifest, '\ufeff{\n\t"name": "a"\n}').split('\n')[1], '\t"name": "a",')
})

test('a file that is not a manifest is named in the error', () => {
  for (const text of ['', '{', '[]', 'null', '"x"', '{ "a": 1, }']) {
    assert.throws(() => parseJsonManifest('here/package.json', text), {
      code: 'HDL_BAD_MANIFEST',
      message: /^here\/package\.json cannot be used: /,
    })
  }
  assert.throws(() => decodeManifest('x', Buffer.from([0x7b, 0xff])), { code: 'HDL_BAD_MANIFEST' })
})
