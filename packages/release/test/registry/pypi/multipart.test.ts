import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { multipartBody } from '../../../src/registry/pypi/multipart.ts'
import { parseForm } from '../../../src/testing/multipart-form.ts'
import { artifactOf, scratch } from '../../support/packed.ts'

test('a document made here is parsed by the stub: fields, file and length', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a-1.0.0.tar.gz')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.stringMatching(/^[a-z_:]{1,9}$/), fc.string()), { maxLength: 9 }),
      fc.uint8Array({ minLength: 1, maxLength: 3000 }),
      async (fields, content) => {
        await writeFile(file, content)
        const form = multipartBody(fields, 'content', await artifactOf(file))
        const pieces: Uint8Array[] = []
        for await (const piece of form.body()) pieces.push(piece)
        const body = Buffer.concat(pieces)
        assert.equal(body.length, form.length)
        const read = parseForm(form.contentType, body)
        assert.deepEqual(read.file, { fileName: 'a-1.0.0.tar.gz', content: await readFile(file) })
        for (const [name] of fields) {
          const values = fields.filter(([other]) => other === name).map(([, value]) => value)
          assert.deepEqual(read.fields.get(name), values)
        }
        // Another parser agrees.
        const headers = { 'content-type': form.contentType }
        const standard = await new Response(body, { headers }).formData()
        assert.equal((standard.get('content') as File).size, content.length)
      },
    ),
    { numRuns: 50 },
  )
})
