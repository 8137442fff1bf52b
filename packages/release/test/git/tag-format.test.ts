import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkTagFormat, tagFormatOf, tagName } from '../../src/git/tag-format.ts'

test('7 tags are called as the format says', () => {
  assert.equal(tagName('core', '1.2.0', tagFormatOf('npm', undefined)), 'core@1.2.0')
  assert.equal(tagName('core', '1.2.0', tagFormatOf('single', undefined)), 'v1.2.0')
  assert.equal(tagName('@a/core', '1.2.0', '{name}-v{version}'), '@a/core-v1.2.0')
  assert.throws(() => checkTagFormat('latest'), /tagFormat/)
  for (const bad of [
    'a..b{version}',
    'v {version}',
    '{version}.lock',
    '/{version}',
    'a:{version}',
  ]) {
    assert.throws(() => checkTagFormat(bad), /a name that Git accepts/, bad)
  }
  for (const good of ['{name}@{version}', 'v{version}', 'release/{name}-v{version}'])
    checkTagFormat(good)
})
