import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { ClientAddresses } from '../../src/people/client-address.ts'

function request(
  remoteAddress: string,
  headers: Record<string, string>,
): Pick<IncomingMessage, 'socket' | 'headers'> {
  return { socket: { remoteAddress } as IncomingMessage['socket'], headers }
}

test('only addresses from trusted proxies count, read from the right', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '::1'])
  const forwarded = {
    'x-forwarded-for': '1.1.1.1, 2.2.2.2, 10.0.0.9',
    'x-forwarded-proto': 'https',
  }
  assert.deepEqual(addresses.of(request('::ffff:10.1.2.3', forwarded)), {
    address: '2.2.2.2',
    isHttps: true,
  })
  assert.deepEqual(addresses.of(request('9.9.9.9', forwarded)), {
    address: '9.9.9.9',
    isHttps: false,
  })
  assert.equal(addresses.of(request('10.1.2.3', { 'x-forwarded-for': 'junk' })).address, '10.1.2.3')
})

test('an entry that is not an address is refused', () => {
  assert.throws(() => new ClientAddresses(['proxy.example']), { code: 'HDL_BAD_OPTION' })
})
