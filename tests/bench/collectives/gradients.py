# SPDX-License-Identifier: Apache-2.0
"""The gradients of two networks, by the number of their elements, in the order of registration: ResNet-50 (He et al.,
"Deep Residual Learning for Image Recognition", CVPR 2016, table 1; 161 tensors, 25,557,032 elements) and BERT-base
(Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019, uncased, without the heads of its
pre-training; 199 tensors, 109,482,240 elements)."""


def resnet50():
    """Convolutions without biases, each followed by a normalization's weight and bias."""
    sizes = []

    def convolution(into, out, width):
        sizes.extend([into * out * width * width, out, out])

    convolution(3, 64, 7)
    channels = 64
    for middle, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            convolution(channels, middle, 1)
            convolution(middle, middle, 3)
            convolution(middle, 4 * middle, 1)
            if block == 0:
                convolution(channels, 4 * middle, 1)
            channels = 4 * middle
    return [*sizes, channels * 1000, 1000]


def bert_base(width=768, layers=12):
    """Embeddings, twelve encoders, the pooler."""
    norm, square = [width, width], [width * width, width]
    encoder = [*square * 4, *norm, 4 * width * width, 4 * width, 4 * width * width, width, *norm]
    embeddings = [30522 * width, 512 * width, 2 * width, *norm]
    return [*embeddings, *encoder * layers, *square]


NETWORKS = {"resnet50": resnet50, "bert-base": bert_base}
