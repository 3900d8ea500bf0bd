import { type ComponentChildren, h, type JSX } from 'preact'

type Tags = {
  [Tag in keyof JSX.IntrinsicElements]: (
    properties?: JSX.IntrinsicElements[Tag] | null,
    ...children: ComponentChildren[]
  ) => JSX.Element
}

/** One function per HTML tag, with typed properties: `html.a({ href: '#/' }, 'Models')`. */
export const html = new Proxy({} as Tags, {
  get:
    (_tags, tag: string) =>
    (properties: object | null = null, ...children: ComponentChildren[]) =>
      h(tag, properties, ...children),
})

/** Joins class names, without those that are false or undefined. */
export const classes = (...names: (string | false | undefined)[]) => names.filter(Boolean).join(' ')
