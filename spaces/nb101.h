/* How wide are the vertices of a NAS-Bench-101 cell? Its channel rule, which the builder uses and
 * which other readers of such cells can check against.
 *
 *     const uint8_t out[] = {0x6, 0x8, 0x8, 0};      input -> 1, 2 -> output
 *     int64_t channels[4];
 *     nas_nb101_channels(4, out, 8, 15, channels);   8, 8, 7, 15
 */
#ifndef NAS_NB101_H
#define NAS_NB101_H

#include <stdint.h>

enum { NAS_NB101_VERTICES = 7 };

/* n vertices, the first the input, the last the output; bit w of out[v] is the edge v -> w > v, all
 * vertices on a path from input to output. The vertices that feed the output share its channels,
 * the first ones one more where it does not divide; any other is as wide as its widest interior
 * successor. (Ying et al. 2019) */
void nas_nb101_channels(int n, const uint8_t *out, int64_t i, int64_t o, int64_t *channels);

#endif
