import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkTagFormat,
  tagFolders,
  tagFormatOf,
  tagName,
  tagObstacle,
} from '../../src/git/tag-format.ts'

test('tags are named by the format', () => {
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

test('a name that Git refuses, or another tag in the way, is found before a tag is made', () => {
  const tags = new Map([
    ['@acme', 'commit'],
    ['core@1.0.0/notes', 'commit'],
  ])
  const existing = { tags, folders: tagFolders(tags.keys()) }
  for (const good of ['@a.b/core@1.0.0', '@acme.x/a@1.0.0', 'acme@1.0.0', 'core@1.0.0-rc.1']) {
    assert.equal(tagObstacle(good, existing), undefined, good)
  }
  for (const bad of ['a~b@1.0.0', '@yarn.lock/a@1.0.0', 'a@1.0.0.lock']) {
    assert.match(tagObstacle(bad, existing)!, /characters or endings/, bad)
  }
  assert.match(tagObstacle('@acme/core@1.0.0', existing)!, /the tag @acme is in the way/)
  assert.match(tagObstacle('core@1.0.0', existing)!, /there are tags below this name/)
})
