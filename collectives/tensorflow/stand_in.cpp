// SPDX-License-Identifier: Apache-2.0
//
// An empty library: libbatchai_tensorflow is linked with it in place of TensorFlow's library.
