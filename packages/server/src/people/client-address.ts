/** The address of a client: that of the connection, or the one that a trusted proxy reports. */
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { IncomingMessage } from 'node:http'
import { HeddleError } from '@heddle/core'

export interface RequestOrigin {
  readonly address: string
  readonly isHttps: boolean
}

export class ClientAddresses {
  readonly #trusted = new BlockList()

  /** @throws `HDL_BAD_OPTION` for an entry that is neither an address nor a network. */
  constructor(trustedProxies: readonly string[]) {
    for (const entry of trustedProxies) {
      const [address = '', bits] = entry.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      try {
        if (bits === undefined) this.#trusted.addAddress(address, family)
        else this.#trusted.addSubnet(address, Number(bits), family)
      } catch {
        const expected = 'an address or a network: 10.0.0.0/8'
        throw new HeddleError('HDL_BAD_OPTION', {
          option: 'trustedProxies',
          value: entry,
          expected,
        })
      }
    }
  }

  /** From the right: each trusted proxy vouches for the address before it. */
  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): RequestOrigin {
    const isEncrypted = 'encrypted' in socket && socket.encrypted === true
    let address = plain(socket.remoteAddress ?? '')
    if (!this.#isTrusted(address)) return { address, isHttps: isEncrypted }
    const forwarded = headerList(headers['x-forwarded-for'])
    for (const each of forwarded.reverse()) {
      if (isIP(each) === 0) break
      address = plain(each)
      if (!this.#isTrusted(address)) break
    }
    const [proto] = headerList(headers['x-forwarded-proto'])
    return { address, isHttps: isEncrypted || proto === 'https' }
  }

  #isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.#trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  }
}

/** IPv4 addresses of sockets that listen on both families. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}

function headerList(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '')
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
