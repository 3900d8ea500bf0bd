import { isIPv6 } from 'node:net'

/** Key of a client in limits per address. A client usually has a whole IPv6 /64 network, so that counts as one. */
export function addressGroup(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === '' ? [] : tail.split(':')
  const all = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0'), ...rest]
  return `${all.slice(0, 4).join(':')}::/64`
}
