/**
 * The connections of a server: how many there may be, and which one ends when there are too many.
 *
 *   new ── room ─▶ idle ── the head of a request ─▶ busy ── the last answer was sent ─▶ idle
 *    └── no room ─▶ refused: closed at once               idle, busy ── either side closes ─▶ gone
 *
 * A connection is idle while no request on it waits for its answer: before its first request, between two
 * requests, and while it sends the head of one.
 *
 * C1. There are at most `most` connections in all.
 * C2. When all are taken, the one that has been idle for the longest time is closed for the new one. Only when
 *     every connection is busy, the new one is refused. So connections that do nothing keep no client out.
 * C3. One address has at most `perAddress` connections. Of IPv6 the first 64 bits count: one customer has that many.
 *     An address that many clients share (a trusted proxy) is not limited; by default loopback is not either.
 * C4. A connection that ends leaves nothing here.
 */
import type { Server, ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import { HeddleError } from '@heddle/core'
import { systemKernel, type Clock, type Timer } from '@heddle/core/lowlevel'
import { isLoopback } from '../browsers.ts'

export interface ConnectionLimits {
  readonly most: number
  /** Absent: {@link usualPerAddress}, and loopback is not limited. */
  readonly perAddress?: number | undefined
  /** Addresses and networks (`10.0.0.0/8`) that are not limited. */
  readonly trustedProxies: readonly string[]
  readonly clock?: Clock
  /** Called with the address of a connection that was refused, or closed to make room. */
  readonly onRefused?: (address: string, why: 'connections' | 'connections_of_address') => void
}

export interface ConnectionStats {
  readonly open: number
  readonly idle: number
  /** Closed while they were idle, to make room. */
  readonly displaced: number
  readonly refused: { readonly total: number; readonly address: number }
}

/** Connections of one address: a fleet behind one address fits, one careless client does not take everything. */
const usualPerAddress = 1_000

interface Connection {
  readonly address: string
  /** Requests that wait for their answer. */
  requests: number
}

export class Connections {
  readonly #most: number
  readonly #clock: Clock
  readonly #perAddress: (address: string) => number
  readonly #onRefused: NonNullable<ConnectionLimits['onRefused']>
  readonly #open = new Map<Socket, Connection>()
  readonly #byAddress = new Map<string, number>()
  /** The one that has been idle for the longest time first. */
  readonly #idle = new Set<Socket>()
  #displaced = 0
  /** When the last connection came or went. */
  #changedAt = -Infinity
  #onChange: () => void = () => undefined
  readonly #refused = { total: 0, address: 0 }

  /** @throws `HDL_BAD_OPTION` when a trusted proxy is not an address or a network. */
  constructor({ most, perAddress, trustedProxies, clock, onRefused }: ConnectionLimits) {
    this.#most = most
    this.#onRefused = onRefused ?? (() => undefined)
    this.#clock = clock ?? systemKernel.clock
    const trusted = networksOf(trustedProxies)
    this.#perAddress = (address) => {
      const isExempt =
        trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') ||
        (perAddress === undefined && isLoopback(address))
      return isExempt ? Infinity : (perAddress ?? usualPerAddress)
    }
  }

  /** Counts the connections of this server too. */
  follow(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket))
  }

  /** From the head of a request on its connection is busy. */
  begin(response: ServerResponse): void {
    const { socket } = response.req
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    connection.requests++
    this.#idle.delete(socket)
    response.once('close', () => {
      if (--connection.requests === 0 && this.#open.has(socket)) this.#idle.add(socket)
    })
  }

  /**
   * Resolves when there was no connection for `quiet` milliseconds, or after `limit`. Clients that were here in the last `limit`
   * milliseconds may be on their way: a connection that the system has taken is reset when the server stops listening.
   *
   * *Cancellation*: none: the limit is short.
   */
  async emptied(quiet: number, limit: number, clock: Clock): Promise<void> {
    if (this.#open.size === 0 && clock.now() - this.#changedAt > limit) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = clock.setTimer(limit, resolve)
    let pause: Timer | undefined
    this.#onChange = () => {
      pause?.cancel()
      pause = this.#open.size === 0 ? clock.setTimer(quiet, resolve) : undefined
    }
    this.#onChange()
    await promise
    this.#onChange = () => undefined
    end.cancel()
    pause?.cancel()
  }

  stats(): ConnectionStats {
    return {
      open: this.#open.size,
      idle: this.#idle.size,
      displaced: this.#displaced,
      refused: { ...this.#refused },
    }
  }

  #add(socket: Socket): void {
    const remote = plainAddress(socket.remoteAddress)
    // It has ended before it was counted.
    if (remote === undefined) return void socket.destroy()
    const address = customerOf(remote)
    const ofAddress = this.#byAddress.get(address) ?? 0
    if (ofAddress >= this.#perAddress(remote)) {
      this.#refused.address++
      this.#onRefused(remote, 'connections_of_address')
      return void socket.destroy()
    }
    if (this.#open.size >= this.#most && !this.#displace()) {
      this.#refused.total++
      this.#onRefused(remote, 'connections')
      return void socket.destroy()
    }
    this.#open.set(socket, { address, requests: 0 })
    this.#changed()
    this.#byAddress.set(address, ofAddress + 1)
    this.#idle.add(socket)
    socket.once('close', () => this.#remove(socket))
  }

  #changed(): void {
    this.#changedAt = this.#clock.now()
    this.#onChange()
  }

  /** C2. */
  #displace(): boolean {
    const [longest] = this.#idle
    if (longest === undefined) return false
    this.#displaced++
    this.#onRefused(plainAddress(longest.remoteAddress) ?? '', 'connections')
    this.#remove(longest)
    longest.destroy()
    return true
  }

  #remove(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    this.#open.delete(socket)
    this.#idle.delete(socket)
    const left = this.#byAddress.get(connection.address)! - 1
    this.#changed()
    if (left === 0) this.#byAddress.delete(connection.address)
    else this.#byAddress.set(connection.address, left)
  }
}

/** A server for both families sees IPv4 as `::ffff:1.2.3.4`. */
function plainAddress(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
}

/**
 * C3: the connections of one customer. The text of an address is the short one: `::` stands for as many zeros as are
 * missing.
 */
export function customerOf(address: string): string {
  if (!isIPv6(address)) return address
  const [front = '', back = ''] = address.split('::')
  const first = front === '' ? [] : front.split(':')
  const last = back === '' ? [] : back.split(':')
  const missing = address.includes('::') ? 8 - first.length - last.length : 0
  const groups = [...first, ...Array.from({ length: missing }, () => '0'), ...last]
  return `${groups.slice(0, 4).join(':')}::/64`
}

function networksOf(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const [address = '', bits] = text.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    try {
      if (bits === undefined) list.addAddress(address, family)
      else list.addSubnet(address, Number(bits), family)
    } catch {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'trustedProxies',
        value: text,
        expected: 'an address or a network, as in 10.0.0.7 and 10.0.0.0/8',
      })
    }
  }
  return list
}
