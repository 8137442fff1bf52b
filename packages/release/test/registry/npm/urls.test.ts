import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as urls from '../../../src/registry/npm/urls.ts'

test('scenario 92: scoped names, base paths and slashes at the end', () => {
  for (const base of [
    'https://r.example/npm/team',
    'https://r.example/npm/team/',
    'https://r.example/npm/team//',
    'https://user:secret@r.example/npm/team/?x=1#y',
  ]) {
    assert.equal(urls.packageUrl(base, '@a/b'), 'https://r.example/npm/team/@a%2fb')
    assert.equal(urls.packageUrl(base, 'b'), 'https://r.example/npm/team/b')
    assert.equal(
      urls.versionUrl(base, '@a/b', '1.0.0-rc.1+build'),
      'https://r.example/npm/team/@a%2fb/1.0.0-rc.1%2Bbuild',
    )
    assert.equal(
      urls.tagsUrl(base, '@a/b', 'a/b'),
      'https://r.example/npm/team/-/package/@a%2fb/dist-tags/a%2Fb',
    )
    assert.equal(
      urls.archiveUrl(base, { name: '@a/b', version: '1.0.0' }),
      'https://r.example/npm/team/@a/b/-/@a/b-1.0.0.tgz',
    )
    assert.equal(
      urls.stageListUrl(base, 0, 100, '@a/b'),
      'https://r.example/npm/team/-/stage?page=0&perPage=100&package=%40a%2Fb',
    )
    assert.equal(
      urls.stagedUrl(base, 'id', 'approve'),
      'https://r.example/npm/team/-/stage/id/approve',
    )
  }
  assert.equal(urls.packageUrl('http://127.0.0.1:4873', 'a'), 'http://127.0.0.1:4873/a')
})
