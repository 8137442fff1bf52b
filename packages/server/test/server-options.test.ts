import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkServerOptions } from '../src/server-options.ts'

test('options of a cluster are refused where no other server can share the store', () => {
  const cluster = [{ advertise: 'http://10.0.0.5:4500' }, { clusterSecret: 'secret.txt' }]
  for (const options of cluster) {
    const [option] = Object.keys(options)
    for (const store of ['memory', 'sqlite:jobs.db', undefined]) {
      assert.throws(() => checkServerOptions({ ...options, store }), {
        code: 'HDL_BAD_OPTION',
        message: new RegExp(`"${option}" .*postgres:`),
      })
    }
    checkServerOptions({ ...options, store: 'postgres://db/app' })
  }
})
