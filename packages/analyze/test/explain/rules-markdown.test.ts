import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesDocument } from '../../src/explain/rules-markdown.ts'
import { rulePages } from '../../src/explain/pages.ts'

test('every rule is in the list, with a link to its section', () => {
  const text = rulesDocument(rulePages)
  for (const { id, name } of rulePages) {
    assert.ok(text.includes(`| [${id}](#${id.toLowerCase()}-${name}) | ${name} |`))
    assert.ok(text.includes(`\n### ${id} ${name}\n`))
  }
})
